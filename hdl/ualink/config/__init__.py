"""One frozen configuration, validated when it is made and handed down whole.

Every number that a build may choose stands here; what firmware may choose at run time is a signal of the block it
belongs to. Uncertain readings of the standard that are build choices are here too, each named in ``docs/rulings.md``.
"""

from ualink.checks import ConfigError
from ualink.config.device import BUSES, ControllerConfig, SwitchConfig, SwitchDeviceConfig
from ualink.config.dl import DLConfig
from ualink.config.phy import MARKERS, PhyConfig
from ualink.config.reading import from_dict
from ualink.config.station import LARGEST_BANDWIDTH, StationConfig
from ualink.config.tl import LARGEST_TRANSFER, AddressCacheConfig, TLConfig
from ualink.config.upli import CheckerConfig, Credits, UPLIConfig

__all__ = [
    "BUSES",
    "LARGEST_BANDWIDTH",
    "LARGEST_TRANSFER",
    "MARKERS",
    "AddressCacheConfig",
    "CheckerConfig",
    "ConfigError",
    "ControllerConfig",
    "Credits",
    "DLConfig",
    "PhyConfig",
    "StationConfig",
    "SwitchConfig",
    "SwitchDeviceConfig",
    "TLConfig",
    "UPLIConfig",
    "from_dict",
]
