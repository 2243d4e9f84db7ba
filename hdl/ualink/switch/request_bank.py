"""A bank of the request plane: buffers of ingress ports for some of the egress ports."""

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.delayed import delayed
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.occupancy import Occupancy
from ualink.lib.parity import protects_data
from ualink.lib.select import only_if, select_one, several
from ualink.switch.arrival import RequestArrival
from ualink.switch.high_water import HighWater
from ualink.switch.matching.matcher import Matcher
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.shared_buffer import SharedBuffer
from ualink.switch.transfer import DATA_LAYOUT, KIND_LAYOUT, REQUEST_LAYOUT, SteeredSignature
from ualink.upli.channels import CODED_LAYOUTS
from ualink.upli.code import control_wrong, data_wrong

__all__ = ["RequestBank"]


def _row_layout(numbers: Shape) -> data.StructLayout:
    """A Request in its buffer: coded; it has data; which beat of its queue, as of ``SharedBuffer``, is its first; if it
    has data, whether it is an odd one of those in its queue that have."""
    return data.StructLayout({"item": CODED_LAYOUTS["req"], "with_data": 1, "first": numbers, "odd": 1})


def _beat_layout() -> data.StructLayout:
    """A beat in its buffer, ``end``, and ``odd`` of its Request."""
    return data.StructLayout({"beat": CODED_LAYOUTS["orig_data"], "end": 1, "odd": 1})


class RequestBank(wiring.Component):
    """Two shared buffers for each ingress port, a matcher, and a way to each egress port of the bank.

    A Request with data is matched when its beats are in the buffer whole; it is read together with the first of them.
    A Request without data is matched for one cycle, whatever data go to its egress port or come from its ingress port
    meanwhile. Requests of one ingress and egress port stay in order (UALink_200 §10.6, Strict). 4 cycles from
    ``steered_req`` to ``arrivals`` when nothing else waits.

    A Request says whether it has data and which they are, a beat whether it ends its transfer. Where that is not what
    was read the Request or the beat is as one whose code is wrong (UALink_200 §3.1.2). Both say whether the Request is
    an odd one: beats of the next one do not complete a transfer of which some went elsewhere.

    Parameters
    ----------
    ingresses, egresses : int, ingress ports of the switch and egress ports of the bank.
    depths : QueueDepths.

    Attributes
    ----------
    steered_req, steered_orig_data : ``SteeredSignature`` of each ingress port, seen from the bank: ``REQUEST_LAYOUT``,
        ``DATA_LAYOUT``.
    req_most, orig_data_most : for each ingress port, Requests and beats in the fullest of its queues since reset, as of
        ``HighWater``.
    under_way : ``egresses`` bit, from registers: where something goes that waits in buffers.
    arrivals : ``RequestArrival`` of each egress port.
    """

    def __init__(self, ingresses: int, egresses: int, depths: QueueDepths):
        self.ingresses, self.egresses = ingresses, egresses
        self.depths = depths
        super().__init__(
            {
                "steered_req": In(SteeredSignature(REQUEST_LAYOUT, egresses)).array(ingresses),
                "steered_orig_data": In(SteeredSignature(DATA_LAYOUT, egresses)).array(ingresses),
                "req_most": Out(range(depths.req + 1)).array(ingresses),
                "orig_data_most": Out(range(depths.orig_data + 1)).array(ingresses),
                "under_way": Out(egresses),
                "arrivals": Out(RequestArrival()).array(egresses),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depths = self.depths
        m.submodules.matcher = matcher = Matcher(self.ingresses, self.egresses)
        # What leaves the buffers, and what its code says of it.
        requests, beats = [], []
        wrong: list[Value] = []
        beat_wrong: list[Value] = []
        poison: list[Value] = []
        come: list[Signal] = []
        come_data: list[Signal] = []
        ends: list[Signal] = []
        levels: list[list[Signal]] = []
        for n in range(self.ingresses):
            req, orig_data = self.steered_req[n], self.steered_orig_data[n]
            m.submodules[f"data_{n}"] = transfers = SharedBuffer(
                _beat_layout(), self.egresses, depths.orig_data, depths.shared
            )
            m.submodules[f"requests_{n}"] = waiting = SharedBuffer(
                _row_layout(transfers.numbers), self.egresses, depths.req, depths.shared
            )
            m.d.comb += [
                transfers.input.payload.beat.eq(orig_data.payload.transfer.beat),
                transfers.input.payload.end.eq(orig_data.payload.transfer.end),
                transfers.input.valid.eq(orig_data.valid),
                transfers.input.toward.eq(orig_data.toward),
                transfers.input.meant.eq(orig_data.meant),
                orig_data.ready.eq(transfers.input.ready),
                transfers.read.eq(matcher.hold[n]),
                waiting.input.payload.item.eq(req.payload.item),
                waiting.input.payload.with_data.eq(req.payload.kind.with_data),
                waiting.input.payload.first.eq(select_one(req.toward, transfers.next_number)),
                waiting.input.valid.eq(req.valid),
                waiting.input.toward.eq(req.toward),
                waiting.input.meant.eq(req.meant),
                req.ready.eq(waiting.input.ready),
                waiting.read.eq(matcher.start[n]),
            ]
            for name, buffer in (("req", waiting), ("orig_data", transfers)):
                m.submodules[f"{name}_high_water_{n}"] = high_water = HighWater(getattr(depths, name), self.egresses)
                m.d.comb += [seen.eq(level) for seen, level in zip(high_water.levels, buffer.levels)]
                m.d.comb += getattr(self, f"{name}_most")[n].eq(high_water.most)
                levels.append(buffer.levels)
            self._waiting(m, n, matcher)
            come.append(waiting.came)
            come_data.append(transfers.came)
            ends.append(Signal(name=f"ends_{n}", init=1))
            m.d.sync += ends[n].eq(matcher.ends[n])
            self._mark(m, n, waiting.input.payload, transfers.input.payload)
            request, beat = waiting.beat, transfers.beat
            requests.append(request)
            beats.append(beat.beat)
            others = (request.first != transfers.number) | (request.odd ^ beat.odd)
            wrong.append(
                Cat(
                    control_wrong("req", request.item, request.item.code),
                    waiting.astray | (request.with_data & others if protects_data() else Const(0)),
                )
            )
            beat_wrong.append(
                Cat(
                    control_wrong("orig_data", beat.beat, beat.beat.code),
                    transfers.astray | (beat.end ^ ends[n]) | self._mixed(m, n, beat, ends[n]),
                )
            )
            poison.append(data_wrong("orig_data", beat.beat, beat.beat.code))
        for k in range(self.egresses):
            arrival = self.arrivals[k]
            coming = Signal(requests[0].shape(), name=f"coming_{k}")
            here, data_here = [one[k] for one in come], [one[k] for one in come_data]
            # Each a register, because codes are checked late. What two have read is one and the other in one.
            found = {
                name: delayed(m, Cat(two, *map(only_if, of, values)), f"{name}_{k}")
                for name, of, values, two in (
                    ("wrong", here, wrong, several(here)),
                    ("beat_wrong", data_here, beat_wrong, several(data_here)),
                    ("poison", data_here, poison, Const(0)),
                )
            }
            m.d.comb += [
                arrival.come.eq(Cat(here).any()),
                Value.cast(coming).eq(select_one(here, requests)),
                arrival.item.eq(coming.item),
                arrival.with_data.eq(coming.with_data),
                arrival.come_data.eq(Cat(data_here).any()),
                arrival.transfer.beat.eq(select_one(data_here, beats)),
                arrival.transfer.end.eq(select_one(data_here, ends)),
                arrival.wrong.eq(found["wrong"].any()),
                arrival.beat_wrong.eq(found["beat_wrong"].any()),
                arrival.poison.eq(found["poison"].any()),
                self.under_way[k].eq(Cat(level[k].any() for level in levels).any()),
                matcher.room[k].eq(arrival.room),
                matcher.data_room[k].eq(arrival.data_room),
            ]
        return m

    def _mark(self, m, n, request, beat):
        """Say of what comes from ingress port ``n`` whether its Request is an odd one."""
        if not protects_data():
            return
        req, orig_data = self.steered_req[n], self.steered_orig_data[n]
        odd = Signal(self.egresses, name=f"odd_{n}")  # of each queue: the last Request with data that came is
        comes = (req.valid & req.ready) & req.payload.kind.with_data.replicate(self.egresses)
        m.d.comb += [
            request.odd.eq((req.toward & ~odd).any()),
            beat.odd.eq((orig_data.toward & odd).any() ^ orig_data.payload.joins),
        ]
        m.d.sync += odd.eq(odd ^ comes)

    def _mixed(self, m, n, beat, ends):
        """1 bit: ``beat``, read from the buffer of ingress port ``n``, or one before it in its transfer is not of the
        Request of the first."""
        if not protects_data():
            return Const(0)
        first = Signal(name=f"first_{n}", init=1)
        odd = Signal(name=f"first_odd_{n}", reset_less=True)
        before = Signal(name=f"mixed_before_{n}", reset_less=True)
        mixed = Signal(name=f"mixed_{n}")
        m.d.comb += mixed.eq(~first & (before | (beat.odd ^ odd)))
        m.d.sync += [first.eq(ends), before.eq(mixed)]
        with m.If(first):
            m.d.sync += odd.eq(beat.odd)
        return mixed

    def _waiting(self, m, n, matcher):
        """Requests of ingress port ``n`` that are there and not accepted, in order, and transfers that are whole."""
        req, orig_data = self.steered_req[n], self.steered_orig_data[n]
        came = Signal(self.egresses, name=f"came_{n}")
        whole = Signal(self.egresses, name=f"whole_{n}")
        m.d.comb += [
            came.eq(req.valid & req.ready),
            whole.eq(orig_data.valid & orig_data.ready & orig_data.payload.transfer.end.replicate(self.egresses)),
        ]
        for k in range(self.egresses):
            m.submodules[f"kinds_{n}_{k}"] = kinds = HeadedQueue(KIND_LAYOUT, self.depths.req, decisive=("with_data",))
            transfers = Occupancy(self.depths.orig_data, name=f"transfers_{n}_{k}")
            oldest, accept = kinds.output, matcher.accept[n][k]
            transfers.count(m, whole[k], accept & oldest.p.with_data)
            m.d.comb += [
                kinds.input.p.eq(req.payload.kind),
                kinds.input.valid.eq(came[k]),
                oldest.ready.eq(accept),
                matcher.with_data[n][k].eq(oldest.valid & oldest.p.with_data & transfers.some),
                matcher.without[n][k].eq(oldest.valid & ~oldest.p.with_data),
                matcher.more[n][k].eq(kinds.level > 1),
                matcher.beats[n][k].eq(oldest.p.beats),
                # Of a Request that stands alone its kind is known now.
                matcher.soon_without[n][k].eq(~oldest.valid & req.soon[k]),
                matcher.soon_with_data[n][k].eq(orig_data.soon[k] & (~oldest.valid | oldest.p.with_data)),
            ]
