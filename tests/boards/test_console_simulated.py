"""``ualink board`` on the RTL of a board, simulated behind a pseudo-terminal."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import serial
from click.testing import CliRunner

from support.boards.console_board import Registers
from ualink.cli import main
from ualink_boards.console.board import open_board
from ualink_boards.console.demo import demo_registers
from ualink_boards.console.errors import BoardError
from ualink_boards.console.protocol import Operation, Request, encode_request
from ualink_boards.console.serial_bus import SerialBus
from ualink_boards.console.simulated import CLOCK_HZ, simulated_board

pytestmark = pytest.mark.xdist_group("console")

COMMAND = [sys.executable, "-c", "from ualink.cli import main; main()", "board"]
REST_AFTER = 12_000
PATIENCE = 60


@pytest.fixture(scope="module")
def port():
    """The port of a board that all tests use, one after the other."""
    with simulated_board("demo", rest_after=REST_AFTER) as path:
        yield path


def _run(port, *arguments):
    result = CliRunner().invoke(main, ["board", "--port", port, "--timeout", "5", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def _counters(port):
    return json.loads(_run(port, "counters", "--json"))


def _until(condition):
    """Wait for ``condition``; simulated time goes on with every request."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end


def _bring_up(port):
    _run(port, "poke", "dl.link_control.enable=1")
    _until(lambda: _run(port, "peek", "dl.link_status.link_state").split()[1] == "up")


def test_registers_begin_as_their_table_says(port):
    shown = dict(line.split() for line in _run(port, "dump").splitlines())
    expected = Registers(demo_registers(CLOCK_HZ)).shown
    changed = {name for name, word in shown.items() if int(word, 16) != expected[tuple(name.split("."))]}
    assert changed <= {"dl.link_status"}
    assert len(shown) > 40


def test_a_link_comes_up_and_errors_that_are_injected_are_counted(port):
    _bring_up(port)
    before = _counters(port)
    points = {
        "sent_crc": "crc_errors",
        "received_crc": "crc_errors",
        "replay_request": "replays_requested",
        "egress_data": "egress_containments",
        "ingress_control": "ingress_containments",
    }
    for point in points:
        _bring_up(port)
        assert _run(port, "inject", point) == "injected 1 in dl\n"
    _bring_up(port)
    after = _counters(port)
    steps = {
        name: after[f"dl.{name}"] - before[f"dl.{name}"] for name in (*points.values(), "link_downs", "flits_sent")
    }
    assert steps.pop("flits_sent") > 100
    assert steps == {
        "crc_errors": 2,
        "replays_requested": 3,
        "egress_containments": 1,
        "ingress_containments": 1,
        "link_downs": 2,
    }
    status = json.loads(_run(port, "status", "--json"))
    assert {name for name in status if name.startswith("dl.events")} == {
        "dl.events.containment_egress",
        "dl.events.containment_ingress",
    }
    _run(port, "poke", "dl.events=0x3ff")
    assert "dl.events" not in _run(port, "status")


def test_settings_are_kept_and_values_refused_by_hardware_too(port):
    _run(port, "poke", "dl.pacing.pace=20000", "dl.local_device.type=accelerator", "dl.local_device.id=0x155")
    assert _run(port, "peek", "dl.local_device").splitlines()[0].split()[1] == f"{1 << 29 | 0x155 << 16:#010x}"
    with SerialBus(port, timeout=5) as bus:
        board = open_board(bus, design="demo")
        pacing = board.table.register("dl.pacing")
        with pytest.raises(BoardError, match=r"dl\.pacing: the board refused to write at 0x0140"):
            board.write_word(pacing, 5)
        assert board.read(pacing) == 20_000
        for address in (0x24, 0xFC, 0x200, 0x8000_0000, 0xFFFF_FFFC):
            with pytest.raises(BoardError, match="refused to read"):
                bus.read(address)
    _run(port, "poke", "dl.pacing.pace=31250", "dl.local_device=0", "dl.events=1")


def test_queues(port):
    words = [random.Random(1).getrandbits(32) for _ in range(8)]
    _run(port, "poke", *(f"dl.uart_tx={word}" for word in words))
    assert _run(port, "peek", "dl.uart_levels.rx").split()[1] == "8"
    read = json.loads(_run(port, "peek", "--json", "dl.uart_rx"))
    with SerialBus(port, timeout=5) as bus:
        board = open_board(bus)
        queue = board.table.register("dl.uart_rx")
        assert [read["dl.uart_rx"], *(board.read(queue) for _ in words[1:])] == words
        with pytest.raises(BoardError, match=r"dl\.uart_rx: the board refused to read"):
            board.read(queue)


def test_wrong_bytes_on_the_line_change_nothing_and_are_counted(port):
    def settings():
        with SerialBus(port, timeout=5) as bus:
            board = open_board(bus)
            registers = [register for register in board.table.windows["dl"] if register.has("rw")]
            return list(board.fetch(registers).values())

    before, dropped = settings(), int(_run(port, "peek", "description.serial_line.dropped").split()[1])
    rng = random.Random(2)
    harmed = 0
    with serial.Serial(port, timeout=0) as line:
        for number in range(120):
            data = bytearray(encode_request(Request(Operation.WRITE, rng.randrange(256), 64 + 16, rng.getrandbits(32))))
            at = rng.randrange(len(data))
            match number % 4:
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    del data[at]
                case 2:
                    data.insert(max(1, at), rng.randrange(1, 0x55))
                case 3:
                    data = bytearray(rng.randbytes(20))
            line.write(data)
            harmed += 1
    with SerialBus(port, timeout=0.3, attempts=20) as bus:
        board = open_board(bus)
        (now,) = board.fetch([board.table.register("description.serial_line")]).values()
    assert settings() == before
    assert 40 < (now - dropped) % (1 << 16) <= harmed + 20


def test_watch_and_log(port, tmp_path):
    _bring_up(port)
    table = _run(port, "watch", "--count", 2, "--every", 0.05)
    assert "dl.flits_sent" in table
    path = tmp_path / "log.csv"
    _run(port, "log", "dl.flits_sent", "--csv", path, "--count", 3, "--every", 0.05)
    counts = [int(row["dl.flits_sent"]) for row in csv.DictReader(path.open())]
    assert len(counts) == 3
    assert counts == sorted(set(counts))


@contextmanager
def _started(*arguments):
    """A command in a process of its own."""
    command = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield command
    finally:
        command.kill()
        command.communicate()


def test_ctrl_c_ends_a_log_with_whole_lines(port, tmp_path):
    path = tmp_path / "log.csv"
    with _started("--port", port, "log", "dl.flits_sent", "--csv", path, "--every", "0.05") as command:
        _until(lambda: path.exists() and path.read_text().count("\n") >= 3)
        command.send_signal(signal.SIGINT)
        out, error = command.communicate(timeout=PATIENCE)
    assert (command.returncode, error.strip()) == (130, "")
    rows = list(csv.reader(path.open()))
    assert out == f"{len(rows) - 1} lines in {path}\n"
    assert {len(row) for row in rows} == {3}


def test_a_simulated_board_serves_until_ctrl_c_and_a_command_that_loses_it_says_so(tmp_path):
    log = tmp_path / "log.csv"
    with _started("simulate", "demo", "--rest-after", REST_AFTER) as board:
        path = board.stdout.readline().strip()
        with _started("--port", path, "log", "--csv", log, "--every", "0.01") as command:
            _until(lambda: log.exists() and log.read_text().count("\n") >= 2)
            board.send_signal(signal.SIGINT)
            out, error = board.communicate(timeout=PATIENCE)
            assert (board.returncode, out) == (130, "")
            out, error = command.communicate(timeout=PATIENCE)
    assert (command.returncode, out) == (1, "")
    assert error.startswith("ualink: ")
    assert f"port {path} has gone: " in error
    assert error.count("\n") == 1
    assert len({len(row) for row in csv.reader(log.open())}) == 1
    assert not os.path.exists(path)


def test_a_board_can_be_simulated_for_one_command():
    done = subprocess.run(
        [*COMMAND, "--simulate", "demo", "status"], capture_output=True, text=True, timeout=10 * PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("demo on /dev/")
    path = done.stdout.split()[2].rstrip(",")
    assert not os.path.exists(path)


def test_bit_errors_of_simulated_lanes_are_counted():
    with simulated_board("bert", rest_after=REST_AFTER) as path:
        _run(path, "bert", "start")
        _run(path, "inject", "--count", 3, "--window", "lane1")
        lanes = json.loads(_run(path, "bert", "read", "--json"))["lanes"]
    assert [lanes[name]["errors"] for name in ("lane0", "lane1")] == [0, 3]
    assert all(lane["locked"] and not lane["lock_lost"] and lane["bits"] > 0 for lane in lanes.values())


@pytest.mark.parametrize("arguments", [["simulate", "pear"], ["--simulate", "pear", "status"]])
def test_a_design_that_is_not_there_cannot_be_simulated(arguments):
    result = CliRunner().invoke(main, ["board", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "ualink: no design is called 'pear'; there are bert, data_link, demo, link, pair\n"


def test_a_design_without_hardware_of_its_own_cannot_be_simulated():
    result = CliRunner().invoke(main, ["board", "simulate", "pair"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "ualink: design pair cannot be simulated; these can: bert, data_link, demo, link\n"
