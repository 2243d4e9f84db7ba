"""``ualink board``: a person's side of a board's serial line."""
