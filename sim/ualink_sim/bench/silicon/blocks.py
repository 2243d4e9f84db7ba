"""The blocks that are measured."""

from collections.abc import Callable
from functools import partial

from amaranth.lib import wiring

from ualink.config import StationConfig, SwitchConfig, TLConfig, UPLIConfig
from ualink.station import Station
from ualink.switch.core import SwitchCore
from ualink.tl.receive import Receive
from ualink.tl.transmit import Transmit
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

from ..data_links import DataLinks
from .bare import Bare
from .planes import PLANES, PlaneWithTables

__all__ = ["BLOCKS", "FAST"]

BLOCKS: dict[str, tuple[str, Callable[[], wiring.Component]]] = {
    "dl1": ("data link of a station with 1 port", partial(DataLinks, 1)),
    "tl_tx": ("transmit half of the transaction layer", lambda: Transmit(TLConfig())),
    "tl_rx": ("receive half of the transaction layer", lambda: Receive(TLConfig())),
    "originator": ("UPLI Originator of a station with 1 port", lambda: Originator(UPLIConfig(), 1)),
    "completer": ("UPLI Completer of a station with 1 port", lambda: Completer(UPLIConfig(), 1)),
    "dl4": ("data link of a station with 4 ports", partial(DataLinks, 4)),
    "station1": ("station with 1 port", lambda: Station(StationConfig(ports=1))),
    "core4": ("core of a switch of 4 stations with 1 port", lambda: SwitchCore(SwitchConfig(stations=4))),
    "core8": ("core of a switch of 8 stations with 1 port", lambda: SwitchCore(SwitchConfig(stations=8))),
    **{
        f"core16_{plane}": (f"{plane} plane of a core of 16 stations with 1 port", partial(PlaneWithTables, plane, 16))
        for plane in PLANES
    },
    "station4": ("station with 4 ports", lambda: Station(StationConfig(ports=4))),
    "station_chosen": (
        "station of chosen ports",
        lambda: Station(StationConfig(ports=4, choosable_ports=True)),
    ),
    "station1_bare": (
        "station with 1 port without parity over data and codes beside it",
        lambda: Bare(Station(StationConfig(ports=1))),
    ),
}
"""What each block is, and what makes it."""

FAST = ("dl1", "tl_tx", "tl_rx", "originator", "completer")
"""Those that take minutes each; the others take up to half an hour, and have to be named."""
