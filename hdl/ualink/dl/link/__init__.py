"""State of a link, and its border to another clock."""
