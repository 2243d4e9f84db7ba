"""``ualink board`` as a person types it, on a board behind a pseudo-terminal."""

import json

from click.testing import CliRunner

from support.boards.console_board import LANE
from ualink.cli import main
from ualink.csr.design import RegisterDesign

__all__ = ["other_full", "printed", "refused", "run_tool", "shown_values"]


def other_full() -> RegisterDesign:
    """Another way to build the same design."""
    return RegisterDesign("full", 50_000_000, (("lane0", LANE),))


def run_tool(port, *arguments):
    return CliRunner().invoke(main, ["board", "--port", str(port), "--timeout", "0.15", *map(str, arguments)])


def printed(board, *arguments):
    result = run_tool(board.path, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(port, *arguments, status=2):
    """The one line on standard error with which a command ends."""
    result = run_tool(port, *arguments)
    assert result.exit_code == status, (result.exit_code, result.exception, result.output)
    assert result.stdout == ""
    assert result.stderr.startswith("ualink: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("ualink: ").rstrip()


def shown_values(board, command):
    return json.loads(printed(board, command, "--json"))
