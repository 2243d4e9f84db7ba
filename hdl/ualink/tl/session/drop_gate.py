"""What Drop Mode does to the beats that come from UPLI (UALink_200 §3.1.3)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.upli.channels import beat_stream

__all__ = ["BEATS_UNDER_WAY", "DropGate"]

BEATS_UNDER_WAY = 64
"""OrigData beats that accepted Requests may have to come: more than the transmitter ever has."""


class DropGate(wiring.Component):
    """Stands in front of the transmitter of a port and, while dropping, accepts every beat and drops it, so that its
    UPLI credit goes home. Latency 0.

    A transfer passes whole or is dropped whole, whatever its first beat met:

    - OrigData beats belong to Requests in their order. Those of Requests that passed are still handed to the
      transmitter, which drains them while it is offline; those of dropped Requests are dropped, even after dropping has
      ended. Until they have gone no Request passes. A beat that comes before its Request waits for it.
    - A Read Response burst that began to pass goes on to the transmitter, which is offline and drops what is left of
      it; one that began while dropping is dropped to its end.

    Requests wait when ``most`` beats would not suffice for the data to come, of those that passed and those dropped.

    Parameters
    ----------
    most : OrigData beats that may be to come.
    coded : beats have a code, as of ``beat_stream``.

    Attributes
    ----------
    dropping : level, Drop Mode; the transmitter is offline as long as it is high, and takes nothing that begins: no
        Request, no Write Response and no first beat of a Read Response. Beats stay on offer to it all the same, so that
        nothing has to decide whether they are.
    req, orig_data, rd_rsp, wr_rsp : beats from UPLI.
    tx_req, tx_orig_data, tx_rd_rsp, tx_wr_rsp : beats to the transmitter.
    """

    def __init__(self, most: int = BEATS_UNDER_WAY, *, coded: bool = False):
        if most < 4:
            raise ConfigError(f"drop gate for {most!r} beats; it must be 4 or more, the beats of one Request")
        self.most = most
        channels = ("req", "orig_data", "rd_rsp", "wr_rsp")
        super().__init__(
            {
                "dropping": In(1),
                **{name: In(beat_stream(name, coded=coded)) for name in channels},
                **{f"tx_{name}": Out(beat_stream(name, coded=coded)) for name in channels},
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._gate_requests(m)
        self._gate_read_responses(m)
        m.d.comb += [
            self.tx_wr_rsp.p.eq(self.wr_rsp.p),
            self.tx_wr_rsp.valid.eq(self.wr_rsp.valid),
            self.wr_rsp.ready.eq(self.dropping | self.tx_wr_rsp.ready),
        ]
        return m

    def _gate_requests(self, m):
        # Beats to come, first those of Requests that passed, then those of dropped ones: none passes behind these.
        to_pass, to_drop, owed = (_Owed(self.most, name) for name in ("to_pass", "to_drop", "owed"))
        passes, drops, beats = Signal(), Signal(), Signal(range(5))
        req, orig_data = self.req, self.orig_data
        m.d.comb += [
            self.tx_req.p.eq(req.p),
            self.tx_req.valid.eq(req.valid & owed.room & ~to_drop.some),
            passes.eq(self.tx_req.valid & self.tx_req.ready),
            drops.eq(req.valid & owed.room & self.dropping),
            req.ready.eq(owed.room & Mux(self.dropping, 1, self.tx_req.ready & ~to_drop.some)),
            beats.eq(Mux(req.p.cmd[5], req.p.num_beats + 1, 0)),
        ]
        data_passes, data_drops = Signal(), Signal()
        m.d.comb += [
            self.tx_orig_data.p.eq(orig_data.p),
            self.tx_orig_data.valid.eq(orig_data.valid & to_pass.some),
            orig_data.ready.eq(Mux(to_pass.some, self.tx_orig_data.ready, to_drop.some)),
            data_passes.eq(self.tx_orig_data.valid & self.tx_orig_data.ready),
            data_drops.eq(orig_data.valid & ~to_pass.some & to_drop.some),
        ]
        to_pass.count(m, passes, beats, data_passes)
        to_drop.count(m, drops, beats, data_drops)
        owed.count(m, passes | drops, beats, data_passes | data_drops)

    def _gate_read_responses(self, m):
        rest, dropped = Signal(2), Signal()  # beats to come of a burst, which are to be dropped as its first one was
        first, drop, following = Signal(), Signal(), Signal.like(rest)
        rd_rsp = self.rd_rsp
        m.d.comb += [
            first.eq(rest == 0),
            drop.eq(dropped | (first & self.dropping)),
            following.eq(Mux(first, rd_rsp.p.num_beats, rest - 1)),
            self.tx_rd_rsp.p.eq(rd_rsp.p),
            self.tx_rd_rsp.valid.eq(rd_rsp.valid & ~dropped),
            rd_rsp.ready.eq(drop | self.tx_rd_rsp.ready),
        ]
        with m.If(rd_rsp.valid & rd_rsp.ready):
            m.d.sync += [rest.eq(following), dropped.eq(drop & (following != 0))]


class _Owed:
    """Beats to come, at most ``most``; out of registers ``some``, they are not 0, and ``room``, those of a Request more
    are not too many."""

    def __init__(self, most: int, name: str):
        self._most = most
        self.number = Signal(range(most + 1), name=name)
        self.some, self.room = Signal(name=f"{name}_some"), Signal(name=f"{name}_room", init=1)

    def count(self, m, starts, beats, leaves):
        """A Request of ``beats`` starts, a beat leaves: both are known late."""

        def following(number):
            return Cat(number[: len(self.number)], number > 0, number <= self._most - 4)

        now, more = self.number, self.number + beats
        kept, begun = (Mux(leaves, following(number - 1), following(number)) for number in (now, more))
        m.d.sync += Cat(now, self.some, self.room).eq(Mux(starts, begun, kept))
