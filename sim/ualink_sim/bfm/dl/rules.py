"""The rules of the DL that the link checker knows, in one table."""

from typing import NamedTuple

__all__ = ["RULES", "DLProtocolError", "Rule"]


class Rule(NamedTuple):
    """What is wrong when the rule is broken, where UALink_200 says so, and the requirements' numbers."""

    text: str
    section: str
    requirements: tuple[str, ...]


def _rule(text: str, section: str, *numbers: int) -> Rule:
    return Rule(text, section, tuple(f"DL-{number:03}" for number in numbers))


RULES: dict[str, Rule] = {
    # The flit.
    "known": _rule("a signal is neither 0 nor 1", "§6.3.6", 32),
    "framing": _rule("a slot is not ten beats of one kind", "§6.3.6", 32),
    "crc": _rule("the CRC is neither right nor inverted", "§6.3.7", 12, 34, 35),
    "op_code": _rule("the op code of the flit header is reserved", "§6.6.3", 134),
    "header_reserved": _rule("a reserved bit of the flit header is not 0", "§6.6.2", 132, 133),
    "number_zero": _rule("flitSeqNo or ackReqSeq is 0", "§6.6.6.1", 143),
    "segment_reserved": _rule("bit 1 of a segment header is not 0", "§6.3.3", 15),
    "message_bits": _rule("Message[n] is not 0 without TL Flit[n]", "§6.3.3", 14),
    "flit_start": _rule("a TL flit starts in a segment without a free sector", "§6.3.4", 22),
    "first_flit": _rule("TL Flit[1] without TL Flit[0] after a full first half", "§6.3.4", 28),
    "zero_fill": _rule("a sector that belongs to nothing is not zero", "§6.3.4", 27, 30),
    "nop_content": _rule("a NOP flit is not empty", "§6.3.3", 24),
    "empty_payload": _rule("a payload flit carries nothing", "§6.3.3", 24),
    # Sequence numbers and what a flit's header tells the partner.
    "sequence": _rule("a flit's own number is not the one that follows", "§6.6.6.1", 143),
    "explicit_cadence": _rule("too many flits in a row without an explicit number", "§6.6.6.7", 131, 141),
    "ack_order": _rule("ackReqSeq of an Ack goes backwards", "§6.6.6.7", 164),
    "ack_range": _rule("an Ack names a flit that has not arrived in order", "§6.6.6.7", 164),
    "ack_late": _rule("Acks stay behind the flits that have arrived", "§6.6.6.7", 164),
    "request_unprovoked": _rule("a Replay Request though nothing is missing", "§6.6.6.4", 154),
    "request_missing": _rule(
        "no Replay Request after a flit out of order, or at Rx_replay_limit", "§6.6.6.4", 154, 155
    ),
    "request_number": _rule("a Replay Request does not name the first missing flit", "§6.6.6.7", 162),
    "request_copies": _rule("fewer than three copies of a Replay Request", "§6.6.1", 128, 130),
    "request_spacing": _rule("two Replay Requests in one codeword group", "§6.6.6.7", 163),
    # Replays.
    "replay_missing": _rule("no replay after a valid Replay Request", "§6.6.6.3", 126, 148),
    "replay_unprovoked": _rule("a replay without a valid Replay Request", "§6.6.6.3", 129, 149),
    "replay_start": _rule("the first flit of a replay is not explicit", "§6.6.5.5", 140),
    "replay_number": _rule("a replay does not start with the flit asked for", "§6.6.6.3", 126),
    "replay_op": _rule("the first flit of a replay has op org, or a new flit op rpy", "§6.6.6.7", 161, 185),
    "replay_order": _rule("replayed flits are not in order", "§6.6.6.6", 160),
    "replay_content": _rule("a replayed flit differs from its original", "§6.6.1", 119),
    "replay_incomplete": _rule("a replay ends before the newest flit", "§6.6.6.6", 160, 183),
    "window": _rule("more than 255 flits are unacknowledged", "§6.6.6.5", 157),
    "forward_progress": _rule("the link stays up without Acks beyond Tx_ack_time_out", "§6.6.6.8", 165),
    # Link states.
    "link_fault": _rule("not remote fault on a local fault, or not Idle on a remote one", "§6.7.1.1", 170, 171),
    "link_nops": _rule("a payload flit before ten NOP flits", "§6.7.1.3", 173, 175),
    "link_early": _rule("a payload flit before two flits in a row were received", "§6.7.1.3", 175),
    "link_down": _rule("flits go on after four control flits in a row were received", "§6.7.1.4", 177),
    "link_idle": _rule("fewer than four control flits between two times of flits", "§6.7.1.2", 172),
    "containment": _rule("a flit follows one with inverted CRC", "§6.7.4.2", 182),
    # Messages.
    "message_code": _rule("a message has no defined class and type", "§6.4.1.1", 39),
    "message_reserved": _rule("a reserved field or value of a message is used", "§6.4", 36, 38),
    "channel_0_offline": _rule("a TL flit starts while channel 0 is offline", "§6.4.3.2", 74, 76),
    "channel_4_offline": _rule("a UART message while channel 4 is offline", "§6.4.3.2", 74, 77),
    "channel_request": _rule("a channel Request for the current state or during a negotiation", "§6.4.3.2", 64, 70, 78),
    "channel_answer": _rule("a channel Request is not answered in time", "§6.4.3.2", 79),
    "channel_unasked": _rule("an answer to nothing, or not in the order of what is answered", "§6.4.3.1.4", 71),
    "channel_response": _rule("TargetState or Response of a channel message is wrong", "§6.4.3.2", 83, 84, 85),
    "channel_refused": _rule("NAck or decision pending where Ack is due", "§6.4.3.2", 65, 80, 82),
    "channel_owed": _rule("no own Request in time after decision pending", "§6.4.3.2", 69, 81),
    "basic_answer": _rule("a Basic request is not answered in time", "§6.4.2", 46, 49, 53, 57),
    "basic_unasked": _rule("a Basic response to no request", "§6.4.2.1", 45, 46),
    "basic_fields": _rule("a number that is not valid, or a rate in a response, is not 0", "§6.4.2", 50, 54, 55, 58),
    "no_op": _rule("No-Ops other than 40 before a UART Stream Reset Request", "§6.4.2.5", 60, 61),
    "uart_framing": _rule("a UART Stream Transport Message pauses", "§6.4.1.2", 41, 106),
    "uart_stream": _rule("a UART stream that does not exist", "§6.4.4.1", 88),
    "uart_credits": _rule("a UART Stream Transport Message without credits for it", "§6.4.4.1.3", 100, 101),
    "uart_grant": _rule("credits for more UART data than were read", "§6.4.4.1.3", 97),
    "uart_reset": _rule("UART data or credits during a stream reset", "§6.4.4.1.2", 92, 94),
    "uart_reset_answer": _rule("a UART Stream Reset Request is not answered in time", "§6.4.4.1.2", 95),
}
"""By name; sections and numbers are those of UALink_200 and of ``docs/requirements``."""


class DLProtocolError(AssertionError):
    """A rule of the DL is broken: ``rule``, a key of ``RULES``, in transmitted slot number ``slot``."""

    def __init__(self, rule: str, slot: int, detail: object = ""):
        self.rule = rule
        self.slot = slot
        text, section, _ = RULES[rule]
        super().__init__(f"slot {slot}: {rule}: {text} ({section})" + (f": {detail}" if detail != "" else ""))
