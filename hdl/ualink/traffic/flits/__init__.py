"""Endless TL flits for a data link alone: made, compared, counted."""
