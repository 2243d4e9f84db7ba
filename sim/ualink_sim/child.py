"""Commands that end with this process, however it ends."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from . import keeper

__all__ = ["run_child"]


def run_child(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str],
    output: IO | None,
    interrupted: Callable[[], bool] = lambda: False,
) -> int:
    """Run ``command`` with ``output`` for standard output and error, and return its exit status.

    A Ctrl-C does not reach the command. ``interrupted`` is told of the first; where that returns true the command is
    waited for. Otherwise, and at any other exception, the command and all that it has started end at once.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(keeper.__file__)), *command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        process_group=0,
    )
    assert process.stdin is not None
    try:
        try:
            return process.wait()
        except KeyboardInterrupt:
            if not interrupted():
                raise
            return process.wait()
    finally:
        process.stdin.close()
        process.wait()
