"""Configuration of UPLI: credits, agents, the checker."""

from dataclasses import dataclass

from ualink.checks import ConfigError, check_integer
from ualink.config.base import Config, check_choice
from ualink.wording import shown

__all__ = ["CheckerConfig", "Credits", "UPLIConfig"]


@dataclass(frozen=True, kw_only=True)
class Credits(Config):
    """Buffers of one class that a receiver announces: usable for any VC (``pool``) and for one VC each (``vc``)."""

    pool: int = 0
    vc: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self):
        check_integer("credits.pool", self.pool, 0, 1023)
        if not isinstance(self.vc, tuple) or len(self.vc) != 4:
            raise ConfigError(f"credits.vc is {shown(self.vc)}; it must hold four counts, one per VC")
        for n, count in enumerate(self.vc):
            check_integer(f"credits.vc[{n}]", count, 0, 1023)

    @property
    def total(self) -> int:
        """Beats or fields that the buffers hold together."""
        return self.pool + sum(self.vc)


@dataclass(frozen=True, kw_only=True)
class UPLIConfig(Config):
    """UPLI agents of a station (UALink_200 §2.5-2.6).

    ``req`` … ``wr_rsp`` are the buffers, per port, behind the channel that this side receives;
    ``init_done_qualification`` is the number of consecutive cycles in which CreditInitDone must be seen (ruling A-09
    of UPLI), at least 2. Without ``prompt_data`` a received data beat is offered two cycles later, and its buffers have
    no way round their memory. ``lean`` builds credits and queues small, for slow clocks, where the others are built to
    be fast; nothing else changes. ``unhurried`` keeps what is received in memories alone, with no register before or
    behind them: every beat is offered one cycle later, whatever ``prompt_data`` and ``lean`` say.
    """

    req: Credits = Credits(pool=16)
    orig_data: Credits = Credits(pool=32)
    rd_rsp: Credits = Credits(pool=32)
    wr_rsp: Credits = Credits(pool=16)
    init_done_qualification: int = 2
    prompt_data: bool = True
    lean: bool = False
    unhurried: bool = False

    def __post_init__(self):
        check_choice("upli", "prompt_data", self.prompt_data, (False, True))
        check_choice("upli", "lean", self.lean, (False, True))
        check_choice("upli", "unhurried", self.unhurried, (False, True))
        check_integer("upli.init_done_qualification", self.init_done_qualification, 2, 16)
        for channel, least in (("req", 1), ("orig_data", 4), ("rd_rsp", 4), ("wr_rsp", 1)):
            if getattr(self, channel).total < least:
                raise ConfigError(
                    f"upli.{channel} has {getattr(self, channel).total} credits; it needs {least} or more"
                )


@dataclass(frozen=True, kw_only=True)
class CheckerConfig(Config):
    """A checker of one UPLI interface with ``ports`` ports.

    Up to ``tracked`` Requests are remembered for the rules on tags, 0: these are left out. A credit account counts up
    to 2 ** ``counter_bits`` - 1. ``isolate``: the Completer is that of an accelerator's TL, which alone may send
    ISOLATE (UALink_200 Table 2-12).
    """

    ports: int = 1
    tracked: int = 16
    counter_bits: int = 10
    isolate: bool = True

    def __post_init__(self):
        check_choice("upli_checker", "ports", self.ports, (1, 2, 4))
        check_integer("upli_checker.tracked", self.tracked, 0, 2048)
        check_integer("upli_checker.counter_bits", self.counter_bits, 3, 16)
        check_choice("upli_checker", "isolate", self.isolate, (False, True))
