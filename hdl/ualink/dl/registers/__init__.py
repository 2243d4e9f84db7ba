"""What firmware sets and sees of a data link."""
