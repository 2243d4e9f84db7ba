"""What the bus models of all layers share."""
