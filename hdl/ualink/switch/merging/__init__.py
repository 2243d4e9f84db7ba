"""Where rows of tiles of the switch core come together: one merge for each egress port and plane."""
