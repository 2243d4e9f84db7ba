"""``ualink board`` on a board in plain Python behind a real pseudo-terminal: every command, every refusal."""

import csv
import fcntl
import json
import os

import pytest
from click.testing import CliRunner

from support.boards.console_board import FULL, LANE, PtyBoard, Registers
from support.boards.console_tool import other_full, printed, refused, shown_values
from ualink.cli import main
from ualink.csr.design import RegisterDesign
from ualink_boards.boards import BOARDS, find_board
from ualink_boards.console.designs import DESIGNS, Design
from ualink_boards.console.errors import BadInput
from ualink_boards.console.serial_bus import choose_port
from ualink_boards.designs import make_design


@pytest.fixture
def board():
    """A board with every kind of window."""
    with PtyBoard(Registers(FULL)) as board:
        yield board


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """A folder of its own; the package knows the design ``full``, and no port is chosen outside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UALINK_PORT", raising=False)
    monkeypatch.setitem(DESIGNS, "full", Design("all", lambda clock_hz: [other_full(), FULL]))
    return tmp_path


def test_status_shows_what_hardware_shows_and_events_that_happened(board):
    shown = board.registers.shown
    shown["dl", "link_status"] = 3 | 1 << 2 | 17 << 8
    lines = dict(line.split() for line in printed(board, "status").splitlines()[1:])
    assert lines["dl.link_status.link_state"] == "up"
    assert lines["dl.link_status.held"] == "17"
    assert not any(name.startswith("dl.events") for name in lines)
    assert not any("crc_errors" in name for name in lines)
    shown["dl", "events"] = 1 << 4
    values = shown_values(board, "status")
    assert [name for name in values if "events" in name] == ["dl.events.forward_progress_time_out"]
    assert values["dl.link_status.link_state"] == 3
    assert printed(board, "status").startswith(f"full on {board.path}, registers at 50 MHz\n")


def test_counters_are_of_one_moment_and_two_halves_are_one_number(board):
    shown = board.registers.shown
    shown["dl", "crc_errors"] = 1234567
    shown["traffic", "bytes_low"], shown["traffic", "bytes_high"] = 5, 2
    values = shown_values(board, "counters")
    assert values["dl.crc_errors"] == 1234567
    assert values["traffic.bytes"] == 2 << 32 | 5
    assert "traffic.bytes_low" not in values
    assert "dl.crc_errors                  1,234,567\n" in printed(board, "counters")
    assert board.registers.log.count(("dl.snapshot", 1)) == 2


def test_dump_takes_nothing_out_of_a_queue(board):
    board.registers.queues["dl", "uart_rx"] = [7]
    lines = dict(line.split() for line in printed(board, "dump").splitlines())
    assert lines["description.identifier"] == "0x424c4155"
    assert lines["dl.pacing"] == f"{31_250:#010x}"
    assert "dl.uart_rx" not in lines and "dl.uart_tx" not in lines
    assert board.registers.queues["dl", "uart_rx"] == [7]
    assert len(lines) == sum(len(list(table)) for _, table in (*FULL.windows, ("", FULL.description))) - 2


def test_peek(board):
    board.registers.shown["dl", "link_status"] = 2
    assert printed(board, "peek", "dl.link_status.link_state") == "dl.link_status.link_state  nop\n"
    word, *fields = printed(board, "peek", "dl.link_control").splitlines()
    assert word.split() == ["dl.link_control", "0x0000000a"]
    assert [line.split()[1] for line in fields] == ["0", "1", "0", "1"]
    board.registers.queues["dl", "uart_rx"] = [0x1234]
    assert json.loads(printed(board, "peek", "--json", "dl.uart_rx.data")) == {"dl.uart_rx.data": 0x1234}


@pytest.mark.parametrize(
    ("assignments", "written"),
    [
        (["dl.link_control.enable=1"], [("dl.link_control", 0b1011)]),
        (["dl.link_control=0x4"], [("dl.link_control", 4)]),
        (["dl.local_device.type=accelerator"], [("dl.local_device", 1 << 29)]),
        (["dl.announce_rate.start=1"], [("dl.announce_rate", 31_250 << 16 | 1)]),
        (["dl.events.uart_overflow=1"], [("dl.events", 1 << 5)]),
        (["dl.uart_tx=5", "dl.uart_tx.data=6"], [("dl.uart_tx", 5), ("dl.uart_tx", 6)]),
    ],
)
def test_poke(board, assignments, written):
    assert printed(board, "poke", *assignments) == ""
    assert board.registers.log == written


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("peek dl", "'dl' is no name; it must be WINDOW.REGISTER or WINDOW.REGISTER.FIELD"),
        (
            "peek d.link_status",
            "d.link_status: design full has no window 'd'; it has description, dl, traffic, lane0, lane1",
        ),
        ("peek dl.status", "dl.status: dl has no register 'status'"),
        ("peek dl.link_state", "dl.link_state: dl has no register 'link_state'; did you mean link_status?"),
        ("peek dl.link_status.state", "dl.link_status has no field 'state'; it has link_state, online, online_4"),
        ("peek dl.uart_tx", "dl.uart_tx cannot be read"),
        ("peek dl.uart_rx dl.nothing", "dl.nothing: dl has no register 'nothing'"),
        ("poke dl.pacing.pace", "'dl.pacing.pace' is no assignment; it must be NAME=VALUE"),
        ("poke dl.link_status=1", "dl.link_status cannot be written"),
        ("poke dl.link_status.online=1", "dl.link_status.online cannot be written"),
        ("poke dl.pacing.pace=fast", "dl.pacing.pace: 'fast' is no value; it must be a number such as 12 or 0x0c"),
        ("poke dl.pacing.pace=70000", "dl.pacing.pace: 70000 does not fit; the field has 16 bits"),
        ("poke dl.pacing.pace=-1", "dl.pacing.pace: -1 does not fit"),
        ("poke dl.pacing.pace=1", "dl.pacing.pace: 1 is refused; from 3125 to 31250"),
        ("poke dl.replay_control.codeword_group=3", "dl.replay_control.codeword_group: 3 is refused; one of 1, 2, 4"),
        ("poke dl.replay_control=0x311", "dl.replay_control.codeword_group: 3 is refused"),
        ("poke dl.local_device.type=hub", "dl.local_device.type: 'hub' is no value; it must be a number such as 12 or"),
        ("poke dl.uart_tx=1 dl.pacing.pace=1", "dl.pacing.pace: 1 is refused"),
        ("start mix.read=300", "traffic.mix.read: 300 is refused; from 0 to 256"),
        ("start --window dl", "window 'dl' cannot do that; these can: traffic"),
        ("inject", "dl: name an error to inject: sent_crc, sent_bit,"),
        ("inject --window dl smoke", "dl: name an error to inject: sent_crc, sent_bit,"),
        ("inject --window lane0 sent_crc", "lane0 injects one kind of error only, which has no name"),
        ("bert --lane lane7", "there is no lane 'lane7'; there are lane0, lane1"),
        (
            "bert --pattern prbs9",
            "lane0.pattern: 'prbs9' is no value; it must be a number such as 12 or 0x0c, or one of",
        ),
        ("bert stop --pattern prbs7", "--pattern has no meaning for stop"),
        ("bert sideways", "Invalid value for '[run|start|read|stop]': 'sideways' is not one of"),
        ("log dl.colour --csv new.csv", "dl.colour: there is no such status or counter"),
        ("log --csv there.csv", "there.csv is there already; name a new file"),
        ("log --csv no/folder.csv", "no/folder.csv: No such file or directory"),
        ("log", "Missing option '--csv'."),
        ("watch --every 0", "Invalid value for '--every': 0"),
        ("dance", "No such command 'dance'."),
        ("--design half status", "no design is called 'half'; there are bert, data_link, demo, full, link"),
        ("--design demo status", " runs design full, not demo"),
        ("--registers nowhere.json status", "nowhere.json: No such file or directory"),
        ("--registers there.csv status", "there.csv: it is not the registers.json of a design"),
        ("--registers other.json status", " runs design full; other.json is of design other"),
        ("--registers stale.json status", " runs design full of another build; stale.json is of design full"),
        ("--registers stale.json --design demo status", "stale.json is of design full, not demo"),
        ("--simulate demo status", "--port has no meaning with --simulate"),
        ("--simulate demo --registers other.json status", "--port has no meaning with --simulate"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused_in_one_line_and_nothing_is_written(board, work, command, reason):
    (work / "there.csv").write_text("{}")
    (work / "other.json").write_text(RegisterDesign("other", 1, (("lane0", LANE),)).to_json())
    (work / "stale.json").write_text(other_full().to_json())
    before = sorted(work.iterdir())
    board.registers.queues["dl", "uart_rx"] = [9]
    line = refused(board.path, *command.split())
    assert line.removeprefix(board.path).startswith(reason)
    assert board.registers.log == [entry for entry in board.registers.log if entry[0].endswith("snapshot")]
    assert board.registers.queues["dl", "uart_rx"] == [9]
    assert sorted(work.iterdir()) == before
    assert (work / "there.csv").read_text() == "{}"


def test_registers_of_a_file_need_no_design_that_is_known(work):
    design = RegisterDesign("unheard", 1_000_000, (("lane0", LANE),))
    (work / "registers.json").write_text(design.to_json())
    with PtyBoard(Registers(design)) as board:
        assert "lane0.status.locked" in printed(board, "--registers", "registers.json", "status")
        line = refused(board.path, "status")
    assert line.endswith(
        "runs design unheard, which this package does not have; "
        "name the registers.json beside its bitstream with --registers"
    )


@pytest.mark.parametrize("name", BOARDS)
def test_the_bit_error_test_of_each_board_is_known(name):
    built = find_board(name)
    registers = Registers(make_design("bert", built).registers)
    for lane in range(built.lanes):
        registers.shown[f"lane{lane}", "status"] |= 1 << 4
        registers.shown[f"lane{lane}", "words"] = 1
    with PtyBoard(registers) as board:
        assert printed(board, "peek", "description.clock.value").split()[1] == str(built.sync_hz)
        lanes = json.loads(printed(board, "bert", "read", "--json"))["lanes"]
    assert {name: lane["bits"] for name, lane in lanes.items()} == {
        f"lane{n}": 1024 * built.width for n in range(built.lanes)
    }


def test_a_known_design_with_other_registers_is_refused():
    with PtyBoard(Registers(RegisterDesign("full", 1_000_000, (("lane9", LANE),)))) as board:
        assert "runs design full with other registers than this package builds it with; name the" in refused(
            board.path, "status"
        )


@pytest.mark.parametrize(
    ("register", "word", "reason"),
    [
        ("identifier", 0xDEAD_BEEF, "is no board of this project (description 0xdeadbeef)"),
        ("layout", 2, "its description has version 2, this tool reads 1"),
        ("name_0", 0x0A0A_0A0A, "runs design '\\n\\n\\n\\n', which this package does not have"),
    ],
)
def test_what_is_no_board_of_this_project_is_refused(board, register, word, reason):
    board.registers.shown["description", register] = word
    assert reason in refused(board.path, "status")


def test_traffic_starts_with_its_settings_and_stops(board):
    assert printed(board, "start", "mix.read=128", "mix.write=64") == "started traffic\n"
    assert board.registers.log == [("traffic.mix", 128), ("traffic.mix", 128 | 64 << 10), ("traffic.run", 1)]
    assert printed(board, "stop", "--window", "traffic") == "stopped traffic\n"
    assert board.registers.log[-1] == ("traffic.run", 0)


def test_errors_are_injected(board):
    assert printed(board, "inject", "received_crc", "--window", "dl", "--count", 2) == "injected 2 in dl\n"
    assert board.registers.log == [("dl.inject", 4 << 4 | 3)] * 2
    assert printed(board, "inject", "--window", "lane1") == "injected 1 in lane1\n"
    assert board.registers.log[-1] == ("lane1.inject", 1)


def test_watch_shows_rates(board):
    counts = iter(range(0, 10_000, 100))
    plain = board.registers.access

    def count(write, address, data):
        if write:
            board.registers.shown["dl", "flits_sent"] = (0xFFFF_FF00 + next(counts)) & 0xFFFF_FFFF
        return plain(write, address, data)

    board.registers.access = count
    text = printed(board, "watch", "--count", 3, "--every", 0.1)
    row = next(line.split() for line in text.splitlines()[::-1] if "dl.flits_sent" in line)
    assert 0 < int(row[2].replace(",", "")) < 5000


def test_log_writes_whole_lines(board, work):
    board.registers.shown["dl", "crc_errors"] = 4
    names = ["dl.crc_errors", "dl.link_status.link_state", "dl.events.uart_overflow"]
    assert printed(board, "log", *names, "--csv", "new.csv", "--every", 0.05, "--count", 3) == "3 lines in new.csv\n"
    rows = list(csv.reader((work / "new.csv").open()))
    assert rows[0] == ["time", "seconds", *names]
    assert [row[2:] for row in rows[1:]] == [["4", "0", "0"]] * 3
    assert float(rows[3][1]) >= 0.1


def test_lost_and_harmed_answers_are_asked_for_again_and_nothing_is_done_twice(board):
    good = None
    harms = iter([b"", b"\xaa\x81", good, "crc", b"", "before", b"\x00\xff", "lost", good])

    def harm(data):
        match next(harms, good):
            case None:
                return data
            case "crc":
                return data[:-1] + bytes((data[-1] ^ 1,))
            case "before":
                return b"\xaa" + data
            case "lost":
                return data[:4] + data[5:]
            case other:
                return other

    board.harm = harm
    board.registers.queues["dl", "uart_rx"] = [1, 2, 3]
    assert printed(board, "peek", "dl.uart_rx.data", "dl.uart_rx.data") == "dl.uart_rx.data  1\ndl.uart_rx.data  2\n"
    harms = iter(["lost", b"", good, b"", "crc", good])
    printed(board, "poke", "dl.uart_tx=5")
    assert board.registers.log == [("dl.uart_tx", 5)]


def test_a_silent_board(board):
    board.deaf = True
    assert refused(board.path, "status", status=1) == f"the board on {board.path} does not answer"


@pytest.mark.parametrize("after", [0, 5])
def test_a_board_that_goes_away_in_the_middle_of_a_command(board, after):
    board.leaves_after = after
    assert refused(board.path, "status", status=1).startswith(f"port {board.path} has gone: ")


def test_an_access_that_the_board_refuses_names_its_register(board):
    assert refused(board.path, "peek", "dl.uart_rx", status=1) == "dl.uart_rx: the board refused to read at 0x0164"


def test_ports_that_cannot_be_opened(work, board):
    assert refused("/dev/nothing", "status") == "port /dev/nothing cannot be opened: No such file or directory"
    (work / "file").write_text("")
    assert refused(work / "file", "status").startswith(f"port {work / 'file'} cannot be opened: ")
    held = os.open(board.path, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert "another program has it" in refused(board.path, "status")
    os.close(held)


def test_the_port_of_a_machine_is_chosen_where_there_is_one():
    assert choose_port(["/dev/ttyUSB1"]) == "/dev/ttyUSB1"
    with pytest.raises(BadInput, match="there are several serial ports: /dev/a, /dev/b; name one with --port"):
        choose_port(["/dev/a", "/dev/b"])
    with pytest.raises(BadInput, match="no serial port is there; plug the board in, or name its port with --port"):
        choose_port([])


def test_help_names_every_command():
    text = CliRunner().invoke(main, ["board", "--help"])
    assert text.exit_code == 0
    for command in ("status", "counters", "watch", "start", "stop", "inject", "bert", "peek", "poke", "dump", "log"):
        assert f"  {command} " in text.stdout
