"""A bank of a response plane: buffers of ingress ports for some of the egress ports."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.delayed import delayed
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.occupancy import Occupancy
from ualink.lib.select import only_if, select_one, several
from ualink.switch.arrival import ResponseArrival
from ualink.switch.high_water import HighWater
from ualink.switch.matching.matcher import Matcher
from ualink.switch.queue_depths import MOST_TRANSFERS
from ualink.switch.shared_buffer import SharedBuffer
from ualink.switch.transfer import SteeredSignature, transfer_layout
from ualink.upli.channels import CODED_LAYOUTS
from ualink.upli.code import control_wrong, data_wrong

__all__ = ["ResponseBank"]


def _row_layout(channel: str) -> data.StructLayout:
    """A beat in its buffer: coded; of Read Responses also whether it is the ``first`` of its transfer, and the last."""
    told = {"first": 1, "end": 1} if channel == "rd_rsp" else {}
    return data.StructLayout({"beat": CODED_LAYOUTS[channel], **told})


class ResponseBank(wiring.Component):
    """One shared buffer for each ingress port, a matcher, and a way to each egress port of the bank.

    Transfers are matched when they are in the buffer whole. 4 cycles from ``steered`` to ``arrivals`` when
    nothing else waits: written, granted, accepted, read.

    A beat of a Read Response says whether its transfer begins and ends with it. Where that is not as it was read the
    beat is as one whose code is wrong (UALink_200 §3.1.2).

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.
    ingresses, egresses : int, ingress ports of the switch and egress ports of the bank.
    depth, shared : as of ``Shares``.

    Attributes
    ----------
    steered : ``SteeredSignature`` of each ingress port, seen from the bank: beats and ``end``.
    beats : 2 bit for each ingress port: beats of the transfer less one, while ``end``.
    most : for each ingress port, beats in the fullest of its queues since reset, as of ``HighWater``.
    under_way : ``egresses`` bit, from registers: where something goes that waits in buffers.
    arrivals : ``ResponseArrival`` of each egress port.
    """

    def __init__(self, channel: str, ingresses: int, egresses: int, depth: int, shared: int):
        self.channel = channel
        self.ingresses, self.egresses = ingresses, egresses
        self.depth, self.shared = depth, shared
        super().__init__(
            {
                "steered": In(SteeredSignature(transfer_layout(channel), egresses)).array(ingresses),
                "beats": In(2).array(ingresses),
                "most": Out(range(depth + 1)).array(ingresses),
                "under_way": Out(egresses),
                "arrivals": Out(ResponseArrival(channel)).array(egresses),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.matcher = matcher = Matcher(self.ingresses, self.egresses)
        # What leaves the buffers, and what its code says of it.
        leaving: list[data.View] = []
        wrong: list[Value] = []
        poison: list[Value] = []
        comes, first, levels = [], [], []
        for n in range(self.ingresses):
            m.submodules[f"buffer_{n}"] = buffer = SharedBuffer(
                _row_layout(self.channel), self.egresses, self.depth, self.shared
            )
            beat = buffer.beat.beat
            leaving.append(beat)
            poison.append(data_wrong(self.channel, beat, beat.code))
            steered, came = self.steered[n], Signal(self.egresses, name=f"came_{n}")
            room = Signal(self.egresses, name=f"room_{n}")  # to keep account of one more transfer
            m.d.comb += [
                buffer.input.payload.beat.eq(steered.payload.beat),
                buffer.input.valid.eq(steered.valid & room),
                buffer.input.toward.eq(steered.toward),
                buffer.input.meant.eq(steered.meant),
                steered.ready.eq(buffer.input.ready & room),
                came.eq(steered.valid & steered.ready & steered.payload.end.replicate(self.egresses)),
            ]
            leads = Signal(name=f"leads_{n}")
            comes.append(buffer.came)
            first.append(leads)
            misread = buffer.astray
            if self.channel == "rd_rsp":
                self._lengths(m, n, came, room, matcher)
                m.d.comb += buffer.read.eq(matcher.hold[n])
                misread |= self._misread(m, n, buffer, leads, matcher)
            else:
                self._counts(m, n, came, room, matcher)
                m.d.comb += buffer.read.eq(matcher.start[n])
            wrong.append(Cat(control_wrong(self.channel, beat, beat.code), misread))
            m.d.sync += leads.eq(matcher.start[n].any())
            m.submodules[f"high_water_{n}"] = high_water = HighWater(self.depth, self.egresses)
            m.d.comb += [seen.eq(level) for seen, level in zip(high_water.levels, buffer.levels)]
            m.d.comb += self.most[n].eq(high_water.most)
            levels.append(buffer.levels)
        for k in range(self.egresses):
            arrival = self.arrivals[k]
            here = [come[k] for come in comes]
            # Each a register, because codes are checked late. What two have read is one and the other in one.
            found = {
                name: delayed(m, Cat(two, *map(only_if, here, values)), f"{name}_{k}")
                for name, values, two in (("wrong", wrong, several(here)), ("poison", poison, Const(0)))
            }
            m.d.comb += [
                arrival.come.eq(Cat(here).any()),
                arrival.beat.eq(select_one(here, leaving)),
                arrival.wrong.eq(found["wrong"].any()),
                arrival.poison.eq(found["poison"].any()),
                arrival.first.eq(select_one(here, first)),
                self.under_way[k].eq(Cat(level[k].any() for level in levels).any()),
                matcher.room[k].eq(arrival.room),
                matcher.data_room[k].eq(1),
            ]
        return m

    def _misread(self, m, n, buffer, leads, matcher):
        """1 bit: a beat of ingress port ``n`` begins or ends its transfer, and was not read as one that does."""
        begins, ends = Signal(name=f"begins_{n}", init=1), Signal(name=f"ends_{n}")
        end, written = self.steered[n].payload.end, (buffer.input.valid & buffer.input.ready).any()
        m.d.comb += [buffer.input.payload.first.eq(begins), buffer.input.payload.end.eq(end)]
        with m.If(written):
            m.d.sync += begins.eq(end)
        m.d.sync += ends.eq(matcher.ends[n])
        return (buffer.beat.first ^ leads) | (buffer.beat.end ^ ends)

    def _lengths(self, m, n, came, room, matcher):
        """Transfers of ingress port ``n`` that are there whole and not accepted: their beats, in order."""
        for k in range(self.egresses):
            m.submodules[f"lengths_{n}_{k}"] = lengths = HeadedQueue(2, min(self.depth, MOST_TRANSFERS))
            m.d.comb += [
                room[k].eq(lengths.input.ready),
                lengths.input.p.eq(self.beats[n]),
                lengths.input.valid.eq(came[k]),
                lengths.output.ready.eq(matcher.accept[n][k]),
                matcher.with_data[n][k].eq(lengths.output.valid),
                matcher.soon_with_data[n][k].eq(self.steered[n].soon[k]),
                matcher.more[n][k].eq(lengths.level > 1),
                matcher.beats[n][k].eq(lengths.output.p),
            ]

    def _counts(self, m, n, came, room, matcher):
        """The same where all have one beat, so that the buffer counts them."""
        m.d.comb += room.eq(~Const(0, self.egresses))
        for k in range(self.egresses):
            items = Occupancy(self.depth, name=f"items_{n}_{k}")
            items.count(m, came[k], matcher.accept[n][k])
            m.d.comb += [
                matcher.without[n][k].eq(items.some),
                matcher.soon_without[n][k].eq(self.steered[n].soon[k]),
                matcher.more[n][k].eq(items.level > 1),
            ]
