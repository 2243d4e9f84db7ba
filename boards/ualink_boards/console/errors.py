"""What can go wrong with a board, by whose it is."""

__all__ = ["BadInput", "BoardError"]


class BadInput(Exception):
    """The person can put it right: a name, a value, a file, the wrong design. Exit status 2."""

    status = 2


class BoardError(Exception):
    """The board does not do what it should: no answer, gone, an access refused. Exit status 1."""

    status = 1
