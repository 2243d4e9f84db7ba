"""The rules on one beat alone: parity, connection, port, TDM slot (UALink_200 §2.5, §2.7)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.checker.watched import WatchedSignature
from ualink.upli.parity import CONTROL_COVER, DATA_COVER, beat_parity

__all__ = ["HEADERS", "BeatCheck", "Phase"]

_WIDE = ("data", "byte_en", "auth_tag")

HEADERS = {
    channel: data.StructLayout(
        {"vld": 1, "port_id": 2, "pool": 1, **{name: field.shape for name, field in layout if name not in _WIDE}}
    )
    for channel, layout in CHANNEL_LAYOUTS.items()
}
"""Per channel what is kept of a beat: all but data, enables and AuthTag."""


class Phase(wiring.Component):
    """Whose slot a cycle is on a group of channels: the first good beat says it, for good (UALink_200 §2.5).

    Members
    -------
    vld, port_id : a good beat of the group's first channel, in this cycle.
    known : 1 bit, combinational: there has been one, or it is here; ``owner`` : 2 bits, the port of this cycle.
    """

    def __init__(self, ports: int):
        self.ports = ports
        super().__init__({"vld": In(1), "port_id": In(2), "known": Out(1), "owner": Out(2)})

    def elaborate(self, platform):
        m = Module()
        cycle, phase, known = Signal(2), Signal(2), Signal()
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += [
            self.known.eq(known | self.vld),
            self.owner.eq(Mux(known, (cycle + phase) & (self.ports - 1), self.port_id)),
        ]
        with m.If(self.vld & ~known):
            m.d.sync += [known.eq(1), phase.eq(self.port_id - cycle)]
        return m


class BeatCheck(wiring.Component):
    """Judges each beat of one channel, and says which are fit to be judged further. Latency 1 cycle from ``seen``.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    ports : 1, 2 or 4.

    Members
    -------
    seen : the channel, out of registers.
    open : 1 bit, beats may come in the cycle seen; ``listen`` : the direction of the sender is open.
    beat : ``HEADERS`` of the cycle before, out of registers, with ``vld`` whatever is wrong with it.
    trusted : 1 bit, there is a beat with good control parity, of a port that exists and not ``early``.
    known, owner : from the ``Phase`` of the group.
    good : 1 bit, a trusted beat in its slot; ``bad`` : 1 bit, something was on the channel that is not good.
    broken : the rules broken by it, combinational behind registers.
    """

    def __init__(self, channel: str, ports: int):
        self.channel = channel
        self.ports = ports
        parities = [*CONTROL_COVER[channel], *DATA_COVER[channel]]
        auth = ["auth_tag"] if "auth_tag" in CHANNEL_LAYOUTS[channel].members else []
        super().__init__(
            {
                "seen": In(WatchedSignature(channel)),
                "open": In(1),
                "listen": In(1),
                "beat": Out(HEADERS[channel]),
                "trusted": Out(1),
                "known": In(1),
                "owner": In(2),
                "good": Out(1),
                "bad": Out(1),
                "broken": Out(
                    data.StructLayout(dict.fromkeys(["early", "vld_parity", *parities, *auth, "port", "slot"], 1))
                ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        seen, broken = self.seen, self.broken
        expected = beat_parity(self.channel, seen)
        m.d.sync += [self.beat[name].eq(getattr(seen, name)) for name, _ in HEADERS[self.channel]]
        m.d.sync += [
            broken.early.eq(seen.vld & ~self.open),
            broken.vld_parity.eq(self.listen & (seen.vld ^ seen.vld_parity)),
        ]
        for name, value in expected.items():
            m.d.sync += broken[name].eq(self.listen & seen.vld & (getattr(seen, name) ^ value).any())
        if "auth_tag" in CHANNEL_LAYOUTS[self.channel].members:
            m.d.sync += broken.auth_tag.eq(~seen.vld & seen.auth_tag.any())
        controls = Cat(broken.early, broken.vld_parity, *(broken[name] for name in CONTROL_COVER[self.channel])).any()
        exists = self.beat.port_id < self.ports
        m.d.comb += [
            broken.port.eq(self.beat.vld & ~controls & ~exists),
            self.trusted.eq(self.beat.vld & ~controls & exists),
            broken.slot.eq(self.trusted & self.known & (self.beat.port_id != self.owner)),
            self.good.eq(self.trusted & ~broken.slot),
            self.bad.eq((self.beat.vld | broken.vld_parity) & ~self.good),
        ]
        return m
