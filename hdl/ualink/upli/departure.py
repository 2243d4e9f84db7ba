"""Where beats wait until it is decided that they are sent."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract
from ualink.lib.occupancy import Occupancy
from ualink.lib.ports_used import existing, slot_after, used_member
from ualink.lib.presence import Presence
from ualink.lib.ring import Ring
from ualink.lib.select import of_now
from ualink.upli.calendar import check_ports
from ualink.upli.channels import CHANNEL_LAYOUTS, CODED_LAYOUTS, beat_stream
from ualink.upli.code import code_of, control_wrong, wrong
from ualink.upli.commands import has_orig_data

__all__ = ["DUE_LAYOUT", "Departure"]

DUE_LAYOUT = data.StructLayout({"with_data": 1, "num_beats": 2, "asks": 4, "vc": 4})
"""What is decided by: the beat is a Request with Originator Data; the beats of its transfer minus one; that is n, in
bit n of ``asks``; its VC is n, in bit n of ``vc``. What a channel does not tell is 0."""


def _due(beat) -> dict[str, Value]:
    """The members of ``DUE_LAYOUT`` that ``beat``, a view with a channel's layout, tells."""
    told: dict[str, Value] = {"vc": _one_hot(beat.vc)}
    if "num_beats" in beat.shape().members:
        told |= {"num_beats": beat.num_beats, "asks": _one_hot(beat.num_beats)}
    if "cmd" in beat.shape().members:
        told["with_data"] = has_orig_data(beat.cmd)
    return told


def _one_hot(number) -> Value:
    return Cat(number == n for n in range(1 << len(number)))


class Departure(wiring.Component):
    """The last place of a channel's beats before its pins: a beat taken in cycle t may be sent in t + 1.

    Each ``ready`` comes from registers, and so do ``valid`` and ``due``: no path leads from the credits of UPLI to who
    offers beats, nor from these to the credits. Whether a beat goes is known late and reaches a few bits of state.
    Beats pass one in a cycle with one port, one in a round with several.

    With one port a beat that does not go at once moves on to the registers of the pins and waits there, with no valid
    beside it, while the next one comes in here.

    Several ports share the pins and take turns without a pause. Each has one place, and ``ready`` of a port is high in
    the cycle before its slot only, the first after a reset left out, if its place was free before: a beat that is
    offered earlier waits. The places go round: a beat that does not leave in its slot t is shown again in slot t +
    ``ports``, out of registers that are chosen by no number of a port.

    Of ``choosable`` ports each has a place of its own, and ``ready`` is high in any cycle in which that is free.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    ports : 1, 2 or 4.
    choosable : it does what one for as many ports does as are used, but for ``ready`` of several; there is ``used``, as
        of ``ports_used``, and ``waits``, 1 bit: there is a beat of any port. One port alone has the place of port 0.
    coded : beats have a code, as of ``beat_stream``, and keep it; there is ``upset``.

    Members
    -------
    beats : stream of beats of each port.
    slot : 2 bits, port that owns this cycle, one after the other; without meaning with one port.
    valid : 1 bit, there is a beat of that port; ``due`` : ``DUE_LAYOUT`` of it.
    accept : 1 bit, it leaves: it is sent or dropped; only with ``valid``.
    beat : for the registers of the pins, unless ``hold``, 1 bit: these have the beat that ``valid`` is about.
    auth_tag : 64 bits, that of the beat that ``valid`` is about; not with ``"orig_data"``. With one port, also one
        alone, and a code ``kept_tag`` is that of the beat that waits at the pins, out of a register.
    upset : 1 bit, reset value 0: in the cycle before, control of that beat was not what its code was made of, or
        ``due`` was not of that beat, which may wait for ever then; or nobody knew what was there. A beat of which
        nobody knows whether it has been sent has a wrong code.
    """

    def __init__(self, channel: str, ports: int, *, choosable: bool = False, coded: bool = False):
        self.ports = check_ports("departure", ports, choosable)
        self._choosable = choosable
        self._channel, self._coded = channel, coded
        self._layout = (CODED_LAYOUTS if coded else CHANNEL_LAYOUTS)[channel]
        self._authenticated = "auth_tag" in self._layout.members
        # Beats with data come out of memories: with several ports they are only chosen in the cycle after.
        self._late = "data" in self._layout.members
        self._moves_on = ports == 1 or choosable
        tags = ("auth_tag", *(["kept_tag"] if coded and self._moves_on else [])) if self._authenticated else ()
        super().__init__(
            {
                **used_member(choosable),
                **({"waits": Out(1)} if choosable else {}),
                "beats": In(beat_stream(channel, coded=coded)).array(ports),
                "slot": In(2),
                "valid": Out(1),
                "due": Out(DUE_LAYOUT),
                "accept": In(1),
                "beat": Out(self._layout),
                "hold": Out(1),
                **{name: Out(64) for name in tags},
                **({"upset": Out(1)} if coded else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        contract(m, self.valid | ~self.accept, "accept: only what is there leaves")
        self._shown = Signal(self._layout, name="shown")
        self._stale, self._choice = Const(0), (self._shown, self._shown)
        if self.ports == 1:
            self._wait_at_the_pins(m)
        elif self._choosable:
            self._wait_by_port(m)
        else:
            self._go_round(m)
        return m

    def _wait_at_the_pins(self, m):
        stream = self.beats[0]
        place = Signal(self._layout, reset_less=True)
        due = Signal(DUE_LAYOUT, reset_less=True)
        waiting = Presence(m, "waiting", protected=self._coded)
        inside = Occupancy(2, name="inside")
        inside.count(m, stream.valid & stream.ready, self.accept)
        m.d.comb += [
            stream.ready.eq(~inside.full),
            self.valid.eq(inside.some),
            self.due.eq(due),
            self.beat.eq(self._shown),
            self._shown.eq(place),
            self.hold.eq(waiting.here),
        ]
        waiting.becomes(m, inside.some & ~self.accept)
        # What comes while nothing is offered is overwritten by what is.
        with m.If(stream.ready):
            m.d.sync += place.eq(stream.p)
        with m.If(~inside.some | self.accept):
            for name, value in _due(stream.p).items():
                m.d.sync += due[name].eq(Mux(inside.full, _due(place)[name], value))
        self._watch(m, due, waiting.here, inside.torn() | waiting.torn)

    def _go_round(self, m):
        """In a ring, for ports that always take turns. What is shown and does not leave goes into its last place, and
        is in the first, which is shown, in the port's next slot."""
        ring = Ring(m, Signal(self._layout.size, name="ring", reset_less=True), self.ports)
        there = [Presence(m, f"there_{n}", protected=self._coded) for n in range(self.ports)]
        due = Signal(DUE_LAYOUT, reset_less=True)
        following = slot_after(self.slot, self.ports)
        stray = self._be_ready(m, following, there[1].here)
        comes = of_now(following, [stream.valid & stream.ready for stream in self.beats])
        place, kept = (data.View(self._layout, register) for register in ring.places[:2])
        chosen = self._show(m, following, place, kept)
        m.d.sync += [due[name].eq(value) for name, value in _due(chosen).items()]
        m.d.comb += [
            # With the code by which it was shown: what was not meant stays wrong.
            ring.then.eq(self._shown),
            self.due.eq(due),
            self.beat.eq(self._shown),
            self.valid.eq(there[0].here),
            self.hold.eq(~there[0].here),
        ]
        stays = there[0].here & ~self.accept
        for one, then in zip(there, [there[1].here | comes, *(later.here for later in there[2:]), stays]):
            one.becomes(m, then)
        self._watch(m, due, Const(0), Cat(stray, (one.torn for one in there)).any())

    def _be_ready(self, m, following, taken):
        """For a beat of port ``following``, unless its place is ``taken``. Gives 1 bit: another was taken, after an
        upset, and is lost."""
        after = slot_after(following, self.ports)
        stray = []
        for port, stream in enumerate(self.beats):
            expects = Signal(name=f"expects_{port}")
            m.d.sync += expects.eq(after == port)
            m.d.comb += stream.ready.eq(expects & ~taken)
            stray.append(stream.valid & stream.ready & (following != port))
        return Cat(stray).any()

    def _wait_by_port(self, m):
        """By port, ``choosable``: one alone moves on to the pins, as if it were the only one."""
        alone = self.used[0]
        place = Signal(self._layout, reset_less=True)
        due = Signal(DUE_LAYOUT, reset_less=True)
        there, full = Presence(m, "there", protected=self._coded), Signal()
        places, comes, torn = self._places(m, alone, full)
        following = slot_after(self.slot, self.ports, self.used)
        kept = Signal(self._layout, name="kept")
        m.d.comb += Value.cast(kept).eq(of_now(following, places))
        chosen = self._show(m, following, place, kept)
        there.becomes(m, of_now(following, comes) & ~alone)
        inside = Occupancy(2, name="inside")
        inside.count(m, alone & self.beats[0].valid & self.beats[0].ready, alone & self.accept)
        stays = inside.some & ~self.accept
        waiting = Presence(m, "waiting", protected=self._coded)
        waiting.becomes(m, stays)
        m.d.comb += [
            full.eq(inside.full),
            self.due.eq(due),
            self.beat.eq(self._shown),
            self.valid.eq(inside.some | there.here),
            self.hold.eq(Mux(alone, waiting.here, ~self.valid)),
            self.waits.eq(self.valid | Cat(comes).any()),
        ]
        with m.If(~stays):
            m.d.sync += [due[name].eq(value) for name, value in _due(chosen).items()]
        self._watch(m, due, waiting.here, torn | inside.torn() | waiting.torn | there.torn)

    def _show(self, m, following, place, kept):
        """Shows in the next cycle, that of port ``following``, what arrives for it if its place is free, else what is
        ``kept`` of it, for which ``place`` is the register. Gives what will be shown.

        The slot of the port that comes next is known, and nothing leaves it before.
        """
        arrives = of_now(following, [stream.ready for stream in self.beats])
        arriving, chosen = (Signal(self._layout, name=name) for name in ("arriving", "chosen"))
        m.d.comb += [
            Value.cast(arriving).eq(of_now(following, [stream.p for stream in self.beats])),
            Value.cast(chosen).eq(Mux(arrives, arriving, kept)),
        ]
        if self._late:
            self._show_late(m, place, kept, arriving, arrives)
        else:
            m.d.comb += self._shown.eq(place)
            m.d.sync += place.eq(chosen)
        return chosen

    def _show_late(self, m, place, kept, arriving, arrives):
        """Out of a register of its own for what arrives. The one that is not meant is wrong, in control and in data."""
        arrived = Signal(self._layout, name="arrived", reset_less=True)
        # One alone would be long in reaching all of the beat, and of two with the same bits tools make one.
        fresh, stale = Signal(reset_less=True), Signal(init=1, reset_less=True)
        self._stale, self._choice = stale, (place, arrived)
        m.d.comb += self._shown.eq(Mux(stale, place, arrived))
        m.d.comb += self._shown.data.eq(Mux(fresh, arrived.data, place.data))
        m.d.sync += [arrived.eq(arriving), fresh.eq(arrives), stale.eq(~arrives), place.eq(kept)]
        if self._coded:
            m.d.comb += self._shown.code.data.eq(Mux(fresh, arrived.code.data, place.code.data))
            m.d.sync += [
                arrived.code.control.eq(code_of(arriving.code.control, ~arrives)),
                place.code.control.eq(code_of(kept.code.control, arrives)),
                arrived.code.data[0].eq(code_of(arriving.code.data[0], ~arrives)),
                place.code.data[0].eq(code_of(kept.code.data[0], arrives)),
            ]

    def _places(self, m, alone, full):
        """One place for each port, whose beat moves on at once when the port is ``alone``, which takes none when
        ``full``. Gives what is in each, whether a beat of that port is there in the next cycle, if none leaves in this
        one, and whether nobody knows of some place if a beat is in it."""
        exists = existing(self.used)
        places, comes, torn = [], [], Const(0)
        for port, stream in enumerate(self.beats):
            place = Signal(self._layout, name=f"place_{port}", reset_less=True)
            taken = Presence(m, f"taken_{port}", protected=self._coded)
            m.d.comb += stream.ready.eq(~taken.here & exists[port] & ~(full if port == 0 else 0))
            with m.If(stream.ready):
                m.d.sync += place.eq(stream.p)
            comes_now, leaves = stream.valid & stream.ready, self.accept & (self.slot == port)
            taken.becomes(m, Mux(taken.here, ~leaves, comes_now & ~alone))
            torn |= taken.torn
            places.append(place)
            comes.append(taken.here | comes_now)
        return places, comes, torn

    def _watch(self, m, due, waiting, torn):
        """Keeps the AuthTag of a beat that is ``waiting`` on the pins, and says what is ``upset``. Its place may have
        another beat then: only what is decided by is looked at, ``due``. What is shown is wrong when ``torn``: it may
        have been sent."""
        if self._authenticated:
            m.d.comb += self.auth_tag.eq(self.beat.auth_tag)
            if self._moves_on:
                kept = Signal(64, name="kept", reset_less=True)
                m.d.comb += self.auth_tag.eq(Mux(waiting, kept, self.beat.auth_tag))
                with m.If(~waiting):
                    m.d.sync += kept.eq(self.beat.auth_tag)
                if self._coded:
                    m.d.comb += self.kept_tag.eq(kept)
        if not self._coded:
            return
        m.d.comb += self.beat.code.control.eq(code_of(self._shown.code.control, torn))
        code = Signal(name="due_code", reset_less=True)
        # Of either beat that may be shown, for which it is comes from one register to all of its bits.
        wrong_here = Mux(self._stale, *(self._differs(beat, due) for beat in self._choice))
        if self._moves_on:
            m.d.sync += code.eq(code_of(due))
            wrong_here = Mux(waiting, wrong(code, due), wrong_here)
        m.d.sync += self.upset.eq((self.valid & wrong_here) | torn)

    def _differs(self, beat, due) -> Value:
        """Control of ``beat`` is not what its code was made of, or ``due`` not of it."""
        told = [due[name] == value for name, value in _due(beat).items()]
        return control_wrong(self._channel, beat, beat.code) | ~Cat(told).all()
