"""Items and errors on demand at a station of a switch, to try what becomes of them (UALink_200 §10.9.1)."""
