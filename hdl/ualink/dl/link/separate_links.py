"""Data links whose TL has a clock of its own, which an accelerator may change (UALink_200 §6.5)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import DLConfig
from ualink.dl.interface import LinkState, tl_flit_signature
from ualink.dl.link.clock_boundary import ClockBoundary, required_depth
from ualink.dl.links import FIRMWARE_MEMBERS, Links
from ualink.dl.rate.change import RateChange
from ualink.lib.forward import forward_member
from ualink.lib.select import of_now
from ualink.phy.interface import RSSignature

__all__ = ["UPLI_CLOCK_MEMBERS", "SeparateLinks"]

UPLI_CLOCK_MEMBERS = (
    "may_change",
    "change",
    "target_rate",
    "abort",
    "time_out_cycles",
    "rate",
    "busy",
    "done",
    "failed",
    "time_out",
    "use_reference",
    "on_reference",
    "pll_program",
    "pll_rate",
    "pll_ready",
)
"""Members of ``RateChange`` for firmware and for the clock generator."""


CLOCK_GENERATOR_ANSWERS = ("on_reference", "pll_ready")
"""Those that come from the clock generator, synchronous to nothing."""


class SeparateLinks(wiring.Component):
    """``Links`` in domain "sync", for a TL in domain "upli", whose clock may be slower; and the change of that clock.

    Channel 0 of a port does not go online until its partner knows the rate of the UPLI clock and nothing of the last
    session is left on either side of the boundary.

    Members
    -------
    slot, tx_flit, rx_flit, online, tl_error : as of ``Links``, in domain "upli".
    upli_reset : UPLIReset_N inverted, synchronous to the UPLI clock; the reset of domain "upli" is for power-on.
    rs_slot : the port that this cycle of domain "sync" belongs to.
    rs, uart_tx, uart_rx, config, status : as of ``Links``.
    upli_clock_… : as of ``RateChange``; ``on_reference`` and ``pll_ready`` may be synchronous to any clock.
    overflow : per port, sticky: a TL flit was lost because the partner sent faster than it had been told.
    """

    def __init__(self, config: DLConfig, ports: int):
        self._ports = ports
        self._rx_depth = required_depth(config.partner_replay_depth)
        self._links = Links(config, ports)
        self._clock = RateChange(ports)
        members = self._links.signature.members
        clock_members = self._clock.signature.members
        super().__init__(
            {
                "slot": In(2),
                "tx_flit": In(tl_flit_signature()),
                "rx_flit": Out(tl_flit_signature(always_ready=True)),
                "online": Out(1),
                "tl_error": In(1),
                "upli_reset": In(1),
                "rs_slot": Out(2),
                "rs": Out(RSSignature()),
                "overflow": Out(ports),
                **{name: members[name] for name in FIRMWARE_MEMBERS},
                **{f"upli_clock_{name}": clock_members[name] for name in UPLI_CLOCK_MEMBERS},
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.links = links = self._links
        m.submodules.clock = clock = self._clock
        boundaries = [ClockBoundary(rx_depth=self._rx_depth) for _ in range(self._ports)]
        if self._ports > 1:
            slot = Signal(range(self._ports))
            m.d.sync += slot.eq(slot + 1)
            m.d.comb += self.rs_slot.eq(slot)

        m.d.comb += [
            links.slot.eq(self.rs_slot),
            links.own_rate.eq(clock.pace),
            self.tx_flit.ready.eq(of_now(self.slot, [b.tl_tx_flit.ready for b in boundaries])),
            self.rx_flit.valid.eq(of_now(self.slot, [b.tl_rx_flit.valid for b in boundaries])),
            self.rx_flit.p.eq(of_now(self.slot, [b.tl_rx_flit.p for b in boundaries])),
            self.online.eq(of_now(self.slot, [b.tl_online for b in boundaries])),
            links.tx_flit.valid.eq(of_now(self.rs_slot, [b.dl_tx_flit.valid for b in boundaries])),
            links.tx_flit.p.eq(of_now(self.rs_slot, [b.dl_tx_flit.p for b in boundaries])),
        ]
        for number, boundary in enumerate(boundaries):
            m.submodules[f"boundary_{number}"] = boundary
            self._connect_port(m, number, boundary)
        connect(m, links.rs, flipped(self.rs))
        for name in UPLI_CLOCK_MEMBERS:
            if name not in CLOCK_GENERATOR_ANSWERS:
                forward_member(m, clock, name, getattr(self, f"upli_clock_{name}"))
        for name in CLOCK_GENERATOR_ANSWERS:
            answer = FFSynchronizer(getattr(self, f"upli_clock_{name}"), getattr(clock, name))
            m.submodules[f"synchronise_{name}"] = answer
        return m

    def _connect_port(self, m, number, boundary):
        links, clock = self._links, self._clock
        tl_error = Signal(name=f"tl_error_{number}")
        tl_here = self.slot == number
        dl_here = self.rs_slot == number
        was_online = Signal(name=f"was_online_{number}")
        with m.If(dl_here):
            m.d.sync += was_online.eq(links.online)
        m.d.comb += [
            boundary.tl_reset.eq(self.upli_reset),
            boundary.tl_here.eq(tl_here),
            boundary.tl_tx_flit.valid.eq(self.tx_flit.valid & tl_here),
            boundary.tl_tx_flit.p.eq(self.tx_flit.p),
            boundary.dl_tx_flit.ready.eq(links.tx_flit.ready & dl_here),
            boundary.dl_rx_flit.valid.eq(links.rx_flit.valid & dl_here),
            boundary.dl_rx_flit.p.eq(links.rx_flit.p),
            boundary.dl_online.eq(was_online),
            self.overflow[number].eq(boundary.overflow),
        ]
        with m.If(tl_here):
            m.d.upli += tl_error.eq(self.tl_error)
        seen = Signal(name=f"tl_error_seen_{number}")
        m.submodules[f"synchronise_tl_error_{number}"] = FFSynchronizer(tl_error, seen)
        with m.If(dl_here):
            m.d.comb += [boundary.dl_online.eq(links.online), links.tl_error.eq(seen)]

        config, status = links.config[number], links.status[number]
        connect(m, flipped(self.uart_tx[number]), links.uart_tx[number])
        connect(m, links.uart_rx[number], flipped(self.uart_rx[number]))
        connect(m, status, flipped(self.status[number]))
        # Firmware's own announcement gives way to that of the clock.
        for name in config.signature.members:
            m.d.comb += getattr(config, name).eq(getattr(self.config[number], name))
        m.d.comb += [
            # A change of the clock does not end what is online: the partner has been slowed down before it.
            config.channel_0_online.eq(
                self.config[number].channel_0_online & boundary.ready & (clock.partner_told[number] | status.online)
            ),
            clock.link_up[number].eq(status.link_state == LinkState.UP),
            clock.answered[number].eq(status.rate_answered),
        ]
        with m.If(clock.may_change | clock.busy | ~clock.partner_told.all()):
            m.d.comb += [config.announce_rate.eq(clock.announce[number]), config.rate.eq(clock.announced_rate)]
