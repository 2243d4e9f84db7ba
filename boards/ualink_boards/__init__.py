"""Boards that bitstreams are built for, designs that they are built of, and the tool that builds them."""
