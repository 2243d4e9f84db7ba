"""What a checker must know of the device it watches."""

from dataclasses import dataclass

from ..common.arguments import check_choice, check_number

__all__ = ["CheckerOptions"]


@dataclass(frozen=True, kw_only=True)
class CheckerOptions:
    """All times are in flit times, the time of one DL flit.

    Attributes
    ----------
    latency : flits that the device may send between the arrival of a slot and the first one that shows it.
    explicit_cadence : at most so many flits from one explicit flit to the next (ruling A-27 (DL)).
    codeword_group : flits that one FEC failure can take: 1, 2 or 4.
    request_spacing : flits between copies of a Replay Request, at least; 0: ``codeword_group``, so that no group holds
        two wherever it begins (A-19 (DL)). A device that knows where its groups begin may send them closer.
    rx_replay_limit : Rx_replay_limit of the device.
    tx_ack_time_out : Tx_ack_time_out of the device; 0: not checked.
    answer : flit times for answers, 1 us at 200 Gb/s; replays, and slots in which nothing new can be sent, do not
        count (ruling A-34 (DL)).
    owed : flit times for the own Request after decision pending, 10 ms at 200 Gb/s; also how long a negotiation without
        an answer lasts (ruling A-10 (DL)).
    uart_reset_answer : flit times for the UART Stream Reset Response.
    crc_covers_zero_field : ruling A-05 (DL).
    """

    latency: int = 4
    explicit_cadence: int = 7
    codeword_group: int = 4
    request_spacing: int = 0
    rx_replay_limit: int = 50
    tx_ack_time_out: int = 0
    answer: int = 39
    owed: int = 390_625
    uart_reset_answer: int = 390_625
    crc_covers_zero_field: bool = True

    def __post_init__(self):
        me = type(self).__name__
        check_choice(me, "codeword_group", self.codeword_group, (1, 2, 4))
        check_number(me, "explicit_cadence", self.explicit_cadence, 2, 7)
        check_number(me, "rx_replay_limit", self.rx_replay_limit, 1, 255)
        for name in ("latency", "request_spacing", "tx_ack_time_out", "answer", "owed", "uart_reset_answer"):
            check_number(me, name, getattr(self, name), 0)
