"""A folder of results that is there whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["OutputError", "output_folder"]

PROBE_BYTES = 1 << 16


class OutputError(OSError):
    """Results cannot be written; the message is one line that names the place and the reason."""


@contextmanager
def output_folder(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Give an empty folder for files ``names``, and at the end of the block make them the files of ``folder``.

    Until then nothing is seen in ``folder``; when the block raises, nothing will be, and files of an earlier run stay.
    Other files of ``folder`` stay too. Raises ``OutputError`` before the block begins when one can tell that ``folder``
    will not take the files, and for every ``OSError`` of the block.
    """
    try:
        scratch = _make_scratch(folder, names)
    except OSError as error:
        raise _refusal(folder, error) from None
    try:
        yield scratch
        _publish(scratch, folder)
    except OSError as error:
        raise error if isinstance(error, OutputError) else _refusal(folder, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _make_scratch(folder: Path, names: Sequence[str]) -> Path:
    """A new folder in the file system of ``folder``: inside it, or where the first missing of its parents will be."""
    for name in names:
        if (folder / name).is_dir():
            raise IsADirectoryError(0, "is a folder; a file of that name shall be written", str(folder / name))
    place = folder.absolute()
    while not (place.exists() or place.is_symlink()):
        place = place.parent
    scratch = place / f".{folder.absolute().name}.{secrets.token_hex(4)}"
    scratch.mkdir()
    try:
        # A full disk takes a folder, but no bytes.
        probe = scratch / "probe"
        probe.write_bytes(bytes(PROBE_BYTES))
        probe.unlink()
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return scratch


def _publish(scratch: Path, folder: Path) -> None:
    """Only renames within one file system are left to do."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        scratch.rename(folder)
        return
    for path in sorted(scratch.iterdir()):
        os.replace(path, folder / path.name)


def _refusal(folder: Path, error: OSError) -> OutputError:
    in_the_way = isinstance(error, IsADirectoryError) and error.filename
    return OutputError(f"{in_the_way or folder}: cannot be written: {error.strerror or error}")
