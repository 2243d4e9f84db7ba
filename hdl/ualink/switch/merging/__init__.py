"""Where rows of ingress ports of a large switch core come together: a merge for each egress port and plane."""
