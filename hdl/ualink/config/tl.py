"""Configuration of the transaction layer."""

from dataclasses import dataclass

from ualink.checks import ConfigError, check_integer
from ualink.config.base import Config, check_choice
from ualink.config.upli import Credits

__all__ = ["LARGEST_TRANSFER", "AddressCacheConfig", "TLConfig"]


@dataclass(frozen=True, kw_only=True)
class AddressCacheConfig(Config):
    """Geometry of one Address Cache (UALink_200 §5.5): ``rows`` (one per Accelerator ID, 0: no cache) of ``ways``.

    A Request whose ID is not below ``rows`` is never compressed.
    """

    rows: int = 1024
    ways: int = 4

    def __post_init__(self):
        check_integer("address cache.rows", self.rows, 0, 1024)
        check_integer("address cache.ways", self.ways, 1, 4)


LARGEST_TRANSFER = 4
"""Beats of 64 bytes."""


@dataclass(frozen=True, kw_only=True)
class TLConfig(Config):
    """Transaction layer of one port (UALink_200 §5).

    ``req_cmd``, ``rsp_cmd`` count fields, ``req_data``, ``rsp_data`` count 64-byte buffers of the receiver. The
    defaults carry any transfer size at full rate over 100 cycles of wire each way; ``tl/credit/sizing.py`` tells what
    others need.
    ``uwm_has_byte_enables`` (D03), ``cmd_counter_bits`` and ``data_counter_bits`` are rulings of ``docs/rulings.md``.
    ``byte_enable_slots`` (D04) says where the byte enables of UPLI Write Messages and vendor commands stand in their
    half-flit: "address", at ReqAddr[7:6] + beat as those of a Write, or "beat", at the beat whatever ReqAddr is. Both
    are the same where ReqAddr[7:6] is 0; both ends of a link must read alike.

    ``device`` names the end of the link, which decides the rows of the Address Caches (UALink_200 §5.5): an
    "accelerator" sends with ReqDstPhysAccID as row and receives with ReqSrcPhysAccID, a "switch" the other way. Of
    "either" the control input ``is_switch`` decides.
    ``tx_cache`` must not be larger than the partner's ``rx_cache`` in either measure (ruling D20).
    ``authentication`` builds the path of authentication tags; firmware turns it on.
    ``shared_data_buffer`` announces Shared Data Buffer mode; the Pools of both data classes are one buffer then.
    ``credit_return_delay`` bounds the cycles that a freed buffer waits for a Control half-flit to ride on, before its
    credit gets a half-flit of its own.
    ``requests_in_sight`` and ``responses_in_sight`` are the fields that the packer chooses among, and so the most of
    each kind that it puts into one half-flit.
    ``catch_in_lines`` keeps the fields that a half-flit brought in memories, not in registers: smaller where a memory
    costs less than multiplexers, as in FPGAs; latency and limits are the same.
    ``lean`` is that of ``UPLIConfig``. ``unhurried`` keeps all that waits in memories alone, which have the time where
    the clock is slow or where each port has every fourth cycle only: ``StationConfig.port_tl``. The fields that a
    half-flit brought are in memories then, too, that are read with a clock, whatever ``catch_in_lines`` and ``lean``
    say.
    """

    req_cmd: Credits = Credits(pool=256)
    rsp_cmd: Credits = Credits(pool=256)
    req_data: Credits = Credits(pool=320)
    rsp_data: Credits = Credits(pool=320)
    uwm_has_byte_enables: bool = True
    byte_enable_slots: str = "address"
    cmd_counter_bits: int = 10
    data_counter_bits: int = 10
    device: str = "accelerator"
    tx_cache: AddressCacheConfig = AddressCacheConfig()
    rx_cache: AddressCacheConfig = AddressCacheConfig()
    authentication: bool = True
    shared_data_buffer: bool = False
    credit_return_delay: int = 16
    requests_in_sight: int = 4
    responses_in_sight: int = 8
    catch_in_lines: bool = False
    lean: bool = False
    unhurried: bool = False

    def __post_init__(self):
        check_choice("tl", "device", self.device, ("accelerator", "switch", "either"))
        check_choice("tl", "byte_enable_slots", self.byte_enable_slots, ("address", "beat"))
        check_choice("tl", "authentication", self.authentication, (False, True))
        check_choice("tl", "shared_data_buffer", self.shared_data_buffer, (False, True))
        check_choice("tl", "catch_in_lines", self.catch_in_lines, (False, True))
        check_choice("tl", "lean", self.lean, (False, True))
        check_choice("tl", "unhurried", self.unhurried, (False, True))
        check_integer("tl.requests_in_sight", self.requests_in_sight, 1, 4)
        check_integer("tl.responses_in_sight", self.responses_in_sight, 1, 8)
        check_integer("tl.credit_return_delay", self.credit_return_delay, 1, 255)
        check_integer("tl.cmd_counter_bits", self.cmd_counter_bits, 4, 16)
        check_integer("tl.data_counter_bits", self.data_counter_bits, 4, 16)
        for name, least in (("req_cmd", 1), ("rsp_cmd", 1), ("req_data", 4), ("rsp_data", 4)):
            credits = getattr(self, name)
            bits = self.cmd_counter_bits if name.endswith("cmd") else self.data_counter_bits
            if max(credits.pool, *credits.vc) >= 1 << bits:
                raise ConfigError(f"tl.{name} does not fit in counters of {bits} bits")
            if self.shared_data_buffer and name.endswith("data"):
                continue
            if max(credits.pool, *credits.vc) < least:
                raise ConfigError(f"tl.{name} needs {least} or more credits in its pool or in one VC")
        joint = self.req_data.pool + self.rsp_data.pool
        if self.shared_data_buffer and 0 < joint < 2 * LARGEST_TRANSFER:
            raise ConfigError(
                f"tl.req_data.pool and tl.rsp_data.pool are {joint} credits together; with tl.shared_data_buffer they "
                f"must be {2 * LARGEST_TRANSFER} or more, so that Requests leave some to Responses"
            )
        self._check_buckets("req_cmd", "req_data")
        self._check_buckets("rsp_cmd", "rsp_data")

    def _check_buckets(self, cmd: str, data: str) -> None:
        """A transfer takes all its credits from one bucket: the Pool, or else each VC in use, must hold the largest."""
        cmds, datas = getattr(self, cmd), getattr(self, data)
        pool = self.req_data.pool + self.rsp_data.pool if self.shared_data_buffer else datas.pool
        if cmds.pool and pool >= LARGEST_TRANSFER:
            return
        for vc, (count, beats) in enumerate(zip(cmds.vc, datas.vc)):
            if count and beats < LARGEST_TRANSFER:
                raise ConfigError(f"tl.{data}.vc[{vc}] is {beats}; with tl.{cmd}.vc[{vc}] it must be 4 or more")
        if not any(cmds.vc):
            raise ConfigError(f"tl.{cmd} and tl.{data} have no bucket in common that holds a transfer of four beats")
