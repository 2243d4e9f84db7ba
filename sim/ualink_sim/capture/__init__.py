"""What passes on a wire, kept and read again."""
