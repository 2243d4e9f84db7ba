"""The device of the example: this project's data link of one port, with plain ports all round."""

from pathlib import Path

from amaranth.hdl import Const, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.dl.layer import DataLink
from ualink.emit.verilog import to_verilog

CONFIG = DLConfig(replay_depth=255, idle_flit_times=8, rx_replay_limit=40, tx_ack_time_out=2_000)


def _with_ready(member):
    """``member`` with a ``ready`` signal, where a stream has the constant 1: a constant cannot be a port."""
    signature = member.signature if member.is_signature else None
    if isinstance(signature, stream.Signature) and signature.always_ready:
        plain = stream.Signature(signature.members["payload"].shape)
        return Out(plain) if member.flow == Out else In(plain)
    return member


class DataLinkTop(wiring.Component):
    """``DataLink`` with its ports as they are: ``tx``, ``rx``, ``local_fault``, ``remote_fault`` face the wire."""

    def __init__(self, config: DLConfig = CONFIG):
        self._link = DataLink(config)
        super().__init__({name: _with_ready(member) for name, member in self._link.signature.members.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.link = link = self._link
        inner = {path: (member, value) for path, member, value in link.signature.flatten(link)}
        for path, _, port in self.signature.flatten(self):
            member, value = inner[path]
            if isinstance(value, Const):
                continue  # ready of a stream that is always ready: nobody asks
            m.d.comb += value.eq(port) if member.flow == In else port.eq(value)
        return m


def _sources() -> dict[str, str]:
    return {"data_link.v": to_verilog(DataLinkTop(), "data_link")}


MODEL = (_sources, "data_link", Path(__file__).read_text())
"""What ``build_once`` takes to compile the model of it, or to find it again."""
