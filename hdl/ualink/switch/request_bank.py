"""A bank of the request plane: buffers of all ingress ports for some of the egress ports, and these."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.delayed import delayed
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.occupancy import Occupancy
from ualink.lib.select import select_one
from ualink.switch.matching.matcher import Matcher
from ualink.switch.mend import UPSET_LAYOUT
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_egress import RequestEgress
from ualink.switch.shared_buffer import SharedBuffer
from ualink.switch.transfer import KIND_LAYOUT, REQUEST_LAYOUT, SteeredSignature, transfer_layout
from ualink.upli.channels import CODED_LAYOUTS, beat_stream
from ualink.upli.code import control_wrong, data_wrong

__all__ = ["RequestBank"]


class RequestBank(wiring.Component):
    """Two shared buffers for each ingress port, a matcher, and a way to each egress port of the bank.

    A Request with data is matched when its beats are in the buffer whole; it is read together with the first of them.
    A Request without data is matched for one cycle, whatever data go to its egress port or come from its ingress port
    meanwhile. Requests of one ingress and egress port stay in order (UALink_200 §10.6, Strict). 5 cycles from
    ``steered_req`` to ``req`` when nothing else waits.

    Parameters
    ----------
    ingresses, egresses : int, ingress ports of the switch and egress ports of the bank.
    depths : QueueDepths.

    Attributes
    ----------
    channel : ``"req"``, by which the banks of the three planes are told apart.
    steered_req, steered_orig_data : ``SteeredSignature`` of each ingress port, seen from the bank: ``REQUEST_LAYOUT``;
        coded beats and ``end``.
    req_levels, orig_data_levels : for each ingress port and egress port, Requests and beats in the queue.
    under_way : ``egresses`` bit, from registers: where something goes that waits in buffers or at the egress.
    req, orig_data, upset : of each egress port, as of ``RequestEgress``.
    """

    channel = "req"

    def __init__(self, ingresses: int, egresses: int, depths: QueueDepths):
        self.ingresses, self.egresses = ingresses, egresses
        self.depths = depths
        super().__init__(
            {
                "steered_req": In(SteeredSignature(REQUEST_LAYOUT, egresses)).array(ingresses),
                "steered_orig_data": In(SteeredSignature(transfer_layout("orig_data"), egresses)).array(ingresses),
                "req_levels": Out(range(depths.req + 1)).array(ingresses, egresses),
                "orig_data_levels": Out(range(depths.orig_data + 1)).array(ingresses, egresses),
                "under_way": Out(egresses),
                "req": Out(beat_stream("req", coded=True)).array(egresses),
                "orig_data": Out(beat_stream("orig_data", coded=True)).array(egresses),
                "upset": Out(UPSET_LAYOUT).array(egresses),
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
        for n in range(self.ingresses):
            req, orig_data = self.steered_req[n], self.steered_orig_data[n]
            m.submodules[f"requests_{n}"] = request = SharedBuffer(
                CODED_LAYOUTS["req"], self.egresses, depths.req, depths.shared
            )
            m.submodules[f"data_{n}"] = beat = SharedBuffer(
                CODED_LAYOUTS["orig_data"], self.egresses, depths.orig_data, depths.shared
            )
            requests.append(request.beat)
            beats.append(beat.beat)
            wrong.append(control_wrong("req", request.beat, request.beat.code))
            beat_wrong.append(control_wrong("orig_data", beat.beat, beat.beat.code))
            poison.append(data_wrong("orig_data", beat.beat, beat.beat.code))
            m.d.comb += [
                request.input.payload.eq(req.payload.item),
                request.input.valid.eq(req.valid),
                req.ready.eq(request.input.ready),
                beat.input.payload.eq(orig_data.payload.beat),
                beat.input.valid.eq(orig_data.valid),
                orig_data.ready.eq(beat.input.ready),
                request.read.eq(matcher.start[n]),
                beat.read.eq(matcher.hold[n]),
            ]
            m.d.comb += [mine.eq(its) for mine, its in zip(self.req_levels[n], request.levels)]
            m.d.comb += [mine.eq(its) for mine, its in zip(self.orig_data_levels[n], beat.levels)]
            self._waiting(m, n, matcher)
            for moved, now in ((come, request.read), (come_data, beat.read), (ends, matcher.ends[n])):
                following = Signal.like(now)
                m.d.sync += following.eq(now)
                moved.append(following)
        levels = [*self.req_levels, *self.orig_data_levels]
        for k in range(self.egresses):
            m.submodules[f"egress_{k}"] = egress = RequestEgress()
            here, data_here = [one[k] for one in come], [one[k] for one in come_data]
            # Each a register, because codes are checked late.
            found = {
                name: delayed(m, Cat(one & value for one, value in zip(of, values)), f"{name}_{k}")
                for name, of, values in (
                    ("wrong", here, wrong),
                    ("beat_wrong", data_here, beat_wrong),
                    ("poison", data_here, poison),
                )
            }
            m.d.comb += [
                egress.come.eq(Cat(here).any()),
                egress.item.eq(select_one(here, requests)),
                egress.come_data.eq(Cat(data_here).any()),
                egress.transfer.beat.eq(select_one(data_here, beats)),
                egress.transfer.end.eq(select_one(data_here, ends)),
                egress.wrong.eq(found["wrong"].any()),
                egress.beat_wrong.eq(found["beat_wrong"].any()),
                egress.poison.eq(found["poison"].any()),
                self.upset[k].eq(egress.upset),
                self.under_way[k].eq(egress.under_way | Cat(level[k].any() for level in levels).any()),
                matcher.room[k].eq(egress.room),
                matcher.data_room[k].eq(egress.data_room),
            ]
            wiring.connect(m, egress.req, wiring.flipped(self.req[k]))
            wiring.connect(m, egress.orig_data, wiring.flipped(self.orig_data[k]))
        return m

    def _waiting(self, m, n, matcher):
        """Requests of ingress port ``n`` that are there and not accepted, in order, and transfers that are whole."""
        req, orig_data = self.steered_req[n], self.steered_orig_data[n]
        came = Signal(self.egresses, name=f"came_{n}")
        whole = Signal(self.egresses, name=f"whole_{n}")
        m.d.comb += [
            came.eq(req.valid & req.ready),
            whole.eq(orig_data.valid & orig_data.ready & orig_data.payload.end.replicate(self.egresses)),
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
                # Whether there is room is known later. Of a Request that stands alone its kind is known now.
                matcher.soon_without[n][k].eq(~oldest.valid & req.valid[k] & ~req.payload.kind.with_data),
                matcher.soon_with_data[n][k].eq(
                    orig_data.valid[k] & orig_data.payload.end & Mux(oldest.valid, oldest.p.with_data, req.valid[k])
                ),
            ]
