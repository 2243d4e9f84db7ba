"""Bus models of UPLI: Originator, Completer, monitor."""
