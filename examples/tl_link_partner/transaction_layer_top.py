"""The device of the example: this project's transaction layer of one port, with plain ports all round."""

from pathlib import Path

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits, TLConfig
from ualink.emit.verilog import to_verilog
from ualink.lib.parity import byte_parity, even_parity
from ualink.tl.layer import TransactionLayer

CONFIG = TLConfig(
    device="accelerator",
    req_cmd=Credits(pool=6, vc=(2, 1, 0, 3)),
    rsp_cmd=Credits(pool=8, vc=(1, 2, 2, 1)),
    req_data=Credits(pool=12, vc=(4, 4, 0, 8)),
    rsp_data=Credits(pool=16, vc=(4, 8, 4, 4)),
)


class TransactionLayerTop(wiring.Component):
    """``TransactionLayer`` with its ports as they are, but for the flits: their data and message bits are ports of
    their own, ``tx_flit__data`` and so on, and the parity beside them is made and left here.
    """

    def __init__(self, config: TLConfig = CONFIG):
        self.config = config
        self._layer = TransactionLayer(config)
        flits = {
            "tx_flit": Out(wiring.Signature({"valid": Out(1), "ready": In(1), "data": Out(512), "message": Out(2)})),
            "rx_flit": In(wiring.Signature({"valid": Out(1), "data": Out(512), "message": Out(2)})),
        }
        super().__init__({name: flits.get(name, member) for name, member in self._layer.signature.members.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.layer = layer = self._layer
        inner = {path: (member, value) for path, member, value in layer.signature.flatten(layer)}
        for path, _, port in self.signature.flatten(self):
            if path[0] in ("tx_flit", "rx_flit"):
                continue
            member, value = inner[path]
            if not isinstance(value, Const):
                m.d.comb += value.eq(port) if member.flow == In else port.eq(value)
        given, taken = layer.rx_flit, layer.tx_flit
        m.d.comb += [
            given.valid.eq(self.rx_flit.valid),
            given.p.data.eq(self.rx_flit.data),
            given.p.message.eq(self.rx_flit.message),
            given.p.parity.eq(byte_parity(self.rx_flit.data)),
            given.p.control_parity.eq(even_parity(self.rx_flit.message)),
            self.tx_flit.valid.eq(taken.valid),
            taken.ready.eq(self.tx_flit.ready),
            Cat(self.tx_flit.data, self.tx_flit.message).eq(Cat(taken.p.data, taken.p.message)),
        ]
        return m


def _sources() -> dict[str, str]:
    return {"transaction_layer.v": to_verilog(TransactionLayerTop(), "transaction_layer")}


MODEL = (_sources, "transaction_layer", Path(__file__).read_text())
"""What ``build_once`` takes to compile the model of it, or to find it again."""
