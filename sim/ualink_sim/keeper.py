"""Runs one command that must not outlive who asked for it: ``python keeper.py COMMAND…``, a process group of its own.

Standard input is a pipe whose other end the asking process holds and never writes to. However that process ends, even
by SIGKILL, the pipe closes, and the keeper ends the group: the command and all that it has started. It works wherever
there are process groups. Apart from that the exit status is that of the command, 128 + n when signal n has ended it.
"""

import os
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 2.0
"""From SIGTERM, on which compilers remove their temporary files, to SIGKILL."""


def main() -> int:
    """Run the command of the command line and return its exit status."""
    # A handler that does nothing goes away in the command, where SIG_IGN would stay.
    signal.signal(signal.SIGTERM, lambda *_: None)
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    ending = threading.Event()
    threading.Thread(target=_end_with_parent, args=(command, ending), daemon=True).start()
    status = command.wait()
    if ending.is_set():
        os.killpg(0, signal.SIGKILL)
    return status if status >= 0 else 128 - status


def _end_with_parent(command: subprocess.Popen, ending: threading.Event) -> None:
    os.read(0, 1)
    ending.set()
    os.killpg(0, signal.SIGTERM)
    try:
        command.wait(GRACE_SECONDS)
    finally:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
