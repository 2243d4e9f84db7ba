"""The receiving side of one channel (UALink_200 §2.6, §3.1.2)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.lib.parity import even_parity, protects_data
from ualink.lib.ports_used import used_member
from ualink.lib.ring import Ring
from ualink.lib.select import of_now
from ualink.upli.beat_queue import DECISIVE, BeatQueue, beat_queue, decisive_code
from ualink.upli.calendar import check_ports
from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, CODED_LAYOUTS, PROTECTED_BITS, beat_stream
from ualink.upli.code import beat_code, code_of, recoded
from ualink.upli.credits import ReceiverCredits
from ualink.upli.numbered_queue import NumberedQueue
from ualink.upli.parity import control_mismatch, data_mismatch
from ualink.upli.sender import CHANNEL_SIGNATURES, POISON

__all__ = ["Receiver"]

OF_BEAT = ("data", "byte_en", "offset", "last", *POISON.values())
"""Fields that differ between the beats of one transfer."""

OF_ANY = (*OF_BEAT, "auth_tag")
"""Those, and what is looked at of the first beat of a transfer alone."""

CONTROL_OF_ANY = [name for name in OF_ANY if name not in PROTECTED_BITS]
"""Those of them that are control."""

ROOM = 4
"""Entries that are asked for at once: of the beats of a transfer."""


class Receiver(wiring.Component):
    """Takes the beats of one channel into the queue of their port; what leaves it returns its credit.

    Everything on the interface goes into registers together with what its parity says: a beat on the interface in cycle
    t is judged in cycle t + 1, as ``beat``, and offered on ``beats`` in cycle t + 2 when the queue was empty, or in
    cycle t + 4 where data are not ``prompt_data``. With it everything but data comes out of registers, because
    decisions are made of it; without, to save logic, out of a memory. So does everything where the agent is
    ``unhurried``, in cycle t + 3: for those who have a register behind them, as four ports that take turns.

    A beat with wrong control parity is dropped here: it is not ``good``, nothing of it is stored and its credit stays
    where it is, because neither its VC nor its Pool can be trusted (UALink_200 §3.1.4.2, ruling A-25 of RAS). What
    becomes of a good one, its user says: ``take``, ``void`` or neither. A beat whose data or byte enables have wrong
    parity is poisoned; parity is generated anew by the next sender (UALink_200 §3.1.4.1).

    The code of a beat is formed of the same wires in the cycle in which its parity is checked, and stored with it. That
    of a poisoned beat is right for what is stored, unless what this was made of has changed since.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    config : its member of the name of the channel is the buffers per port. ``prompt_data``: data wait no longer than
        they must, as of ``Queue``; ``lean``, for slow clocks: everything comes out of a memory, and in the same cycles;
        ``unhurried``: out of a memory, and a cycle later.
    ports : 1, 2 or 4.
    choosable : there is ``used``, as of ``ports_used``: how many ports are.
    coded : ``beats`` have a code, as of ``beat_stream``.

    Attributes
    ----------
    upli : the channel.
    open : 1 bit, credits may be sent; ``listen``: the other direction is open, so that beats and parity count.
    beat : what was on the interface in the cycle before; ``good`` : 1 bit, a beat with good control parity.
    in_slot : 1 bit, its port is that of ``slot``; ``here`` : 1 bit, and it is ``good``. All three are registers;
        ``upset`` : 1 bit, they do not agree; or nobody knows whose turn it is; or, in the cycle before, a queue did not
        offer what was due, as of ``NumberedQueue``.
    slot : the port that this cycle belongs to on the channel, one cycle behind the interface; ``following`` : that of
        the next one.
    room : 4 bits, bit n: more than n entries are free in the queue of the port of ``slot``; 0 before its
        CreditInitDone.
    take, void : 1 bit, the good beat of this cycle is stored for the port of ``slot``; with ``void`` it will not be
        offered, it only returns its credit when its turn comes. Only with ``room``.
    goes_on : 1 bit, from registers: what is stored in this cycle belongs to the transfer whose first beat was taken
        last, and has its fields, with ``due_offset`` and ``due_last``.
    fill : 1 bit, with ``goes_on``: a poisoned beat, without byte enables and with any data and AuthTag, is stored in
        place of this cycle's. It returns the credit of that one if it is ``here``.
    beats : the beats taken of each port, in order.
    data_error, control_error : 1 bit each, of this cycle's beat; ``control_error`` also without one.
    """

    def __init__(
        self,
        channel: str,
        config: UPLIConfig,
        ports: int,
        *,
        choosable: bool = False,
        coded: bool = False,
    ):
        self.channel = channel
        self._config, self._lean = config, config.lean
        self.credits = getattr(config, channel)
        self.ports = check_ports("receiver", ports, choosable)
        self._choosable, self._coded = choosable, coded
        super().__init__(
            {
                **used_member(choosable),
                "upli": In(CHANNEL_SIGNATURES[channel]()),
                "open": In(1),
                "listen": In(1),
                "beat": Out(CHANNEL_LAYOUTS[channel]),
                "in_slot": Out(1),
                "here": Out(1),
                "upset": Out(1),
                "good": Out(1),
                "slot": In(2),
                "following": In(2),
                "room": Out(ROOM),
                "take": In(1),
                "void": In(1),
                "goes_on": In(1),
                "fill": In(1),
                "due_offset": In(2),
                "due_last": In(1),
                "beats": Out(beat_stream(channel, coded=coded)).array(ports),
                "data_error": Out(1),
                "control_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        upli = self.upli
        layout = CHANNEL_LAYOUTS[self.channel]
        beat = Signal(layout, reset_less=True)
        pool = Signal(reset_less=True)
        m.submodules.credits = credits = ReceiverCredits(self.credits, self.ports, choosable=self._choosable)
        if self._choosable:
            m.d.comb += credits.used.eq(self.used)
        wiring.connect(m, credits.credit, wiring.flipped(upli.credit))
        wrong, in_slot, doubt = Signal(), Signal(), Signal()
        m.d.comb += [
            credits.open.eq(self.open),
            wrong.eq(control_mismatch(self.channel, upli)),
            in_slot.eq(upli.port_id == self.following),
            self.beat.eq(beat),
        ]
        m.d.sync += [
            *(beat[name].eq(getattr(upli, name)) for name, _ in layout),
            self.in_slot.eq(in_slot),
            self.here.eq(self.listen & upli.vld & ~wrong & in_slot),
            pool.eq(upli.pool),
            self.good.eq(self.listen & upli.vld & ~wrong),
            self.control_error.eq(self.listen & wrong),
            self.data_error.eq(self.listen & upli.vld & data_mismatch(self.channel, upli)),
        ]
        code = None
        if self._coded:
            code = Signal(CODE_LAYOUTS[self.channel], name="code", reset_less=True)
            layout = CODED_LAYOUTS[self.channel]
            m.d.sync += [code[name].eq(value) for name, value in beat_code(self.channel, upli).items()]
        poisons = self.channel in POISON
        kind, delay = beat_queue(self._config, poisons=poisons)
        told = {"decisive_code": 1} if kind is BeatQueue and poisons and self._coded and protects_data() else {}
        stored = data.StructLayout({"beat": layout, "pool": 1, "void": 1, "credit": 1, **told})
        # What is stored is made once, for whichever port.
        incoming = Signal(stored)
        m.d.comb += [
            incoming.beat.eq(beat),
            incoming.pool.eq(pool),
            incoming.void.eq(self.void),
            incoming.credit.eq(1),
        ]
        if code is not None:
            # What is no beat, or was one and is lost, is wrong where it is taken for one.
            control = code_of(code.control, doubt)
            m.d.comb += [incoming.beat.code.eq(code), incoming.beat.code.control.eq(control)]
        if poisons:
            poison = POISON[self.channel]
            m.d.comb += incoming.beat[poison].eq(beat[poison] | self.data_error | self.fill)
            kept = self._go_on(m, incoming)
            if told:
                m.d.comb += incoming.decisive_code.eq(self._decisive_code(kept))
            if code is not None:
                # Of the beat's own poison; inverted, so that synthesis does not make one register of both.
                sound = Signal(name="sound", reset_less=True)
                m.d.sync += sound.eq(~getattr(upli, poison))
                first = recoded((), of=beat[poison], code=control)
                later = code_of(self._code_of_later(m, incoming.beat, kept, code), doubt & ~self.fill)
                poisoned = Mux(self.goes_on, ~sound, beat[poison]) | self.data_error | self.fill
                m.d.comb += incoming.beat.code.control.eq(code_of(Mux(self.goes_on, later, first), poisoned))
        # Whose turn it is, from registers that each reach one queue.
        turns = [Const(1)]
        if self.ports > 1:
            turns = [Signal(name=f"turn_{port}", init=port == 0) for port in range(self.ports)]
            m.d.sync += [turn.eq(self.following == port) for port, turn in enumerate(turns)]
        m.d.comb += doubt.eq((self.here ^ (self.good & self.in_slot)) | self._torn(turns))
        rooms, coming_rooms, upsets = [], [], []
        for port, turn in enumerate(turns):
            m.submodules[f"queue_{port}"] = queue = self._queue(kind, delay, stored)
            outgoing = queue.output.p
            m.d.comb += [
                queue.input.p.eq(incoming),
                queue.input.valid.eq(turn & (self.take | self.void | (self.fill if poisons else 0))),
                self.beats[port].valid.eq(queue.output.valid & ~outgoing.void),
                self.beats[port].p.eq(outgoing.beat),
                queue.output.ready.eq(self.beats[port].ready | outgoing.void),
                credits.pop[port].eq(queue.output.valid & queue.output.ready & outgoing.credit),
                credits.pop_pool[port].eq(outgoing.pool),
                credits.pop_vc[port].eq(outgoing.beat.vc),
            ]
            if self._coded:
                upsets.append(queue.upset)
            room, coming_room = self._room(m, port, queue)
            rooms.append(Mux(upli.credit.init_done[port], room, 0))
            coming_rooms.append(Mux(upli.credit.init_done[port], coming_room, 0))
        m.d.comb += [
            self.upset.eq(Cat(doubt, *upsets).any()),
            self.room.eq(self._of_turn(m, rooms, coming_rooms)),
        ]
        return m

    def _queue(self, kind, delay, shape):
        """The queue of a port, of entries of ``shape``, numbered if beats have a code."""
        if not self._coded:
            return kind(shape, self.credits.total)
        return NumberedQueue(kind, shape, self.credits.total, delay=delay)

    def _torn(self, turns):
        """The one of ``turns`` that is set is not that of ``slot``: a beat would go to another port, or to none."""
        if self.ports == 1 or not protects_data():
            return Const(0)
        return Cat(turn ^ (self.slot == port) for port, turn in enumerate(turns)).any()

    def _of_turn(self, m, rooms, coming_rooms):
        """That of ``rooms`` which is of the port of ``slot``: chosen a cycle ahead, for no beat goes to a port but in
        its turn. One port alone has every turn."""
        if self.ports == 1:
            return rooms[0]
        if self._lean:
            return of_now(self.slot, rooms)
        room = Signal(ROOM, name="room_now")
        m.d.sync += room.eq(of_now(self.following, coming_rooms))
        return Mux(self.used[0], rooms[0], room) if self._choosable else room

    def _room(self, m, port, queue):
        """Bit n: more than n entries are free; out of registers but for slow clocks: what comes and goes is late. And
        the same for the next cycle, when nothing comes."""
        places = range(min(ROOM, self.credits.total))

        def below(limit):
            return queue.level < limit if limit else Const(0)

        stays, fewer, more = (Cat(below(self.credits.total - n + change) for n in places) for change in (0, -1, 1))
        if self._lean:
            return stays, stays
        room = Signal(len(places), init=-1, name=f"room_{port}")
        pushed, popped = queue.input.valid & queue.input.ready, queue.output.valid & queue.output.ready
        unpushed = Mux(popped, more, stays)
        m.d.sync += room.eq(Mux(pushed, Mux(popped, stays, fewer), unpushed))
        return room, unpushed

    def _go_on(self, m, incoming):
        """What is stored of later beats of a transfer; gives the fields kept of its first."""
        layout = CHANNEL_LAYOUTS[self.channel]
        same = [name for name, _ in layout if name not in OF_ANY]
        kept = self._ring(m, data.StructLayout({name: layout[name].shape for name in same}), "kept")
        with m.If(self.take & ~self.goes_on):
            m.d.comb += [kept.then[name].eq(self.beat[name]) for name in same]
        with m.If(self.goes_on):
            m.d.comb += [incoming.beat[name].eq(kept.now[name]) for name in same if name != "vc"]
            m.d.comb += [
                # A credit goes home to the VC of the beat that spent it.
                incoming.beat.vc.eq(Mux(self.here, self.beat.vc, kept.now.vc)),
                incoming.beat.offset.eq(self.due_offset),
                incoming.beat.last.eq(self.due_last),
            ]
        with m.If(self.fill):
            # Nobody looks at data of a poisoned beat, nor at the AuthTag of a later one of a transfer. That this is one
            # is known too late for so many bits.
            if "byte_en" in layout.members:
                m.d.comb += incoming.beat.byte_en.eq(0)
            m.d.comb += [incoming.credit.eq(self.here), incoming.void.eq(0)]
        return kept.now

    def _decisive_code(self, kept):
        """That of what is stored: known of either before it is known whether the transfer goes on."""
        later = {"offset": self.due_offset, "last": self.due_last, "vc": Mux(self.here, self.beat.vc, kept.vc)}
        fields = [name for name in DECISIVE if name in CHANNEL_LAYOUTS[self.channel].members]
        of_later = Cat(later[name] if name in later else kept[name] for name in fields)
        return Mux(self.goes_on, even_parity(of_later), decisive_code(self.beat))

    def _code_of_later(self, m, stored, kept, code):
        """That of ``stored`` but for its poison: wrong if what was ``kept`` is, or the VC or AuthTag of this cycle's
        beat where they are stored."""
        vc_code, kept_code = Signal(name="vc_code", reset_less=True), self._ring(m, 1, "kept_code")
        of_beat = tuple(self.beat[name] for name in CHANNEL_LAYOUTS[self.channel].members if name in CONTROL_OF_ANY)
        m.d.sync += vc_code.eq(code_of(self.upli.vc))
        own = [self.due_offset, self.due_last]
        if "auth_tag" in stored.shape().members:
            auth_code = Signal(name="auth_code", reset_less=True)
            m.d.sync += auth_code.eq(code_of(self.upli.auth_tag))
            own.append(auth_code)
        with m.If(self.take & ~self.goes_on):
            m.d.comb += kept_code.then.eq(recoded((), of=of_beat, code=code.control))
        # Where the VC of this cycle's beat is stored its own code stands for it.
        same_vc = recoded(tuple(own), of=(), code=kept_code.now)
        with m.If(self.fill):
            if "byte_en" in stored.shape().members:
                m.d.comb += stored.code.byte_en.eq(0)
        return Mux(self.here, code_of(same_vc, kept.vc, vc_code), same_vc)

    def _ring(self, m, shape, name):
        register = Signal(shape, name=name, reset_less=True)
        return Ring(m, register, self.ports, used=self.used if self._choosable else None)
