"""Configuration of the data link."""

from dataclasses import dataclass

from ualink.checks import check_integer
from ualink.config.base import Config, check_choice

__all__ = ["DLConfig"]


@dataclass(frozen=True, kw_only=True)
class DLConfig(Config):
    """Data link layer of one port (UALink_200 §6).

    ``replay_depth`` is TxReplay in DL flits; ``explicit_cadence`` the reload of Tx_explicit_count (A-27), 2 to 7, for
    no explicit flit is an Ack; ``crc_covers_zero_field`` is A-05, ``crc_stages`` the registers in the way of the CRC,
    1 to 4; with ``cycles_per_beat`` above 1, 2 or 4, the physical layer brings and takes a beat of 64 bytes at most
    every so many cycles, and what is done to a beat is done in as many steps (``crc_stages`` has no meaning then);
    ``idle_flit_times`` the least stay in DL Idle, above the round trip (A-23);
    ``uart_tx_dwords`` and ``uart_rx_dwords`` are the UART buffers; ``partner_replay_depth`` is the largest TxReplay of
    a partner, in DL flits, which counts only where the TL has a clock of its own, behind a FIFO. ``unhurried`` keeps
    beats on their way in memories, in the same cycles, where each port has every fourth cycle only:
    ``StationConfig.port_dl``.
    """

    replay_depth: int = 64
    explicit_cadence: int = 7
    crc_covers_zero_field: bool = True
    crc_stages: int = 2
    cycles_per_beat: int = 1
    idle_flit_times: int = 64
    rx_replay_limit: int = 50
    tx_ack_time_out: int = 40_000
    uart_tx_dwords: int = 128
    uart_rx_dwords: int = 128
    partner_replay_depth: int = 64
    unhurried: bool = False

    def __post_init__(self):
        check_integer("dl.replay_depth", self.replay_depth, 2, 255)
        check_integer("dl.explicit_cadence", self.explicit_cadence, 2, 7)
        check_integer("dl.crc_stages", self.crc_stages, 1, 4)
        check_choice("dl", "cycles_per_beat", self.cycles_per_beat, (1, 2, 4))
        check_choice("dl", "unhurried", self.unhurried, (False, True))
        check_integer("dl.idle_flit_times", self.idle_flit_times, 4, 255)
        check_integer("dl.rx_replay_limit", self.rx_replay_limit, 1, 255)
        check_integer("dl.tx_ack_time_out", self.tx_ack_time_out, 0, (1 << 24) - 1)
        check_integer("dl.uart_tx_dwords", self.uart_tx_dwords, 1, 4095)
        check_integer("dl.partner_replay_depth", self.partner_replay_depth, 0, 255)
        check_integer("dl.uart_rx_dwords", self.uart_rx_dwords, 1, 4095)
