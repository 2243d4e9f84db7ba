"""The numbers of the project, measured: a row per number, beside the limit that physics or the standard sets."""
