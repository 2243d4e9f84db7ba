"""Who of a bank sends to whom: grants of the egress ports, of which each ingress port accepts one."""
