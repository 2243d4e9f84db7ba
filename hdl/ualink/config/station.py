"""Configuration of a station."""

from dataclasses import dataclass, field

from ualink.checks import ConfigError
from ualink.config.base import Config, check_choice
from ualink.config.dl import DLConfig
from ualink.config.phy import PhyConfig
from ualink.config.tl import TLConfig
from ualink.config.upli import UPLIConfig

__all__ = ["CHOOSABLE_RATES", "LARGEST_BANDWIDTH", "SHAREABLE", "StationConfig", "is_shareable"]

LARGEST_BANDWIDTH = 800
"""Gb/s of a station, all ports together (UALink_200 §1.1)."""
CHOOSABLE_RATES = (400, 800)
"""Gb/s of the four lanes of a station together where they are one port or several (UALink_200 §7.1)."""

SHAREABLE = "with choosable_ports it must be a multiple of 4, and 12 or more"
"""What a TxReplay is that is shared out at run time: ``is_shareable``."""


def is_shareable(dl: DLConfig) -> bool:
    """Whether a quarter of the TxReplay of ``dl`` is flits enough for one of four ports."""
    return dl.replay_depth % 4 == 0 and dl.replay_depth >= 12


@dataclass(frozen=True, kw_only=True)
class StationConfig(Config):
    """One station: four lanes as one x4, two x2 or four x1 links (``ports`` 1, 2 or 4; UALink_200 §2.5).

    ``separate_upli_clock`` puts UPLI and TL into a clock domain of their own, which an accelerator may run slower than
    the links (UALink_200 §6.5). With ``choosable_ports`` a station of four ports uses one, two or all of them, as
    firmware chooses while links are down; all are after reset, and ``phy.rate`` is that of one alone. With ``phy`` the
    station ends below its reconciliation sublayer, without above it; ``dl.cycles_per_beat`` is then at most
    ``phy.cycles_per_beat``.
    """

    ports: int = 1
    choosable_ports: bool = False
    separate_upli_clock: bool = False
    upli: UPLIConfig = field(default_factory=UPLIConfig)
    tl: TLConfig = field(default_factory=TLConfig)
    dl: DLConfig = field(default_factory=DLConfig)
    phy: PhyConfig | None = None

    def __post_init__(self):
        check_choice("station", "ports", self.ports, (1, 2, 4))
        if self.dl.replay_depth < 2 * self.ports:
            raise ConfigError(f"dl.replay_depth is {self.dl.replay_depth}; {self.ports} ports need two flits each")
        if self.phy is not None and self.dl.cycles_per_beat > self.phy.cycles_per_beat:
            raise ConfigError(
                f"dl.cycles_per_beat is {self.dl.cycles_per_beat}; with phy.blocks_per_word {self.phy.blocks_per_word} "
                f"it must be {self.phy.cycles_per_beat} or less"
            )
        if self.choosable_ports:
            self._check_choosable()
            return
        fastest = 0 if self.phy is None else max(self.phy.rates or (self.phy.rate,))
        if fastest > LARGEST_BANDWIDTH // self.ports:
            raise ConfigError(
                f"phy.rate of a port is {fastest}; a port of a station of {self.ports} carries "
                f"{LARGEST_BANDWIDTH // self.ports} Gb/s at most"
            )

    def _check_choosable(self):
        if self.ports != 4:
            raise ConfigError(f"station.ports is {self.ports}; it must be 4 with choosable_ports")
        if self.separate_upli_clock:
            raise ConfigError("station.choosable_ports and separate_upli_clock are both set; one of them can be")
        if not is_shareable(self.dl):
            raise ConfigError(f"dl.replay_depth is {self.dl.replay_depth}; {SHAREABLE}")
        if self.phy is not None and (self.phy.rates or self.phy.rate not in CHOOSABLE_RATES):
            raise ConfigError(
                f"phy.rate of one port is {self.phy.rates or self.phy.rate}; with choosable_ports it must be "
                f"{' or '.join(map(str, CHOOSABLE_RATES))}: each of several has its share of that"
            )
        if self.phy is not None:
            # A marker interval that is said has to do for four ports, too.
            self.phy.replace(rate=self.phy.rate // self.ports)

    @property
    def agents_upli(self) -> UPLIConfig:
        """The UPLI agents of the station. Those of four ports that always take turns are ``unhurried``."""
        return self.upli.replace(unhurried=True) if self._four_take_turns else self.upli

    @property
    def port_tl(self) -> TLConfig:
        """The transaction layer of each port. One of four that always take turns is ``unhurried``."""
        return self.tl.replace(unhurried=True) if self._four_take_turns else self.tl

    @property
    def _four_take_turns(self):
        return self.ports == 4 and not self.choosable_ports

    @property
    def port_dl(self) -> DLConfig:
        """The data link of each port. All ports together have the TxReplay of a x4 link: a x1 link, whose flits take
        four times as long, covers the same round trip with a quarter of it. With ``choosable_ports`` it is shared out
        at run time. One of four that always take turns is ``unhurried``."""
        if self.choosable_ports:
            return self.dl
        own = self.dl.replace(replay_depth=self.dl.replay_depth // self.ports)
        return own.replace(unhurried=True) if self._four_take_turns else own
