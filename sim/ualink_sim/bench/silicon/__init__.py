"""``ualink bench silicon``: how fast and how large blocks are in a standard-cell library, before layout."""
