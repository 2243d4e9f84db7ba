"""State of each port of a station that goes round with the calendar."""

from amaranth.hdl import Module, Mux, Signal, Value

__all__ = ["Ring"]


class Ring:
    """As many registers as ports, of which the first is of the port that owns the cycle: each moves on in every cycle.

    So nothing is chosen by the number of a port, and nobody has to know which port it is. With one port it is a
    register.

    Parameters
    ----------
    m : where the registers are.
    like : what each of them is like, in shape, reset value and name, which gets a number.
    used : as of ``ports_used``, how many of four ports take turns; None for all.

    Attributes
    ----------
    now : of the port of this cycle.
    then : what it becomes, ``now`` unless something is assigned to it in the domain ``comb`` of ``m``.
    places : all of them, ``now`` first; what is assigned to them later in ``m`` wins over their moving on.
    """

    def __init__(self, m: Module, like: Signal, ports: int, *, used: Value | None = None):
        self.places = [Signal.like(like, name=f"{Value.cast(like).name}_{place}") for place in range(ports)]
        self.now = self.places[0]
        self.then = Signal.like(like, name=f"{Value.cast(like).name}_then")
        m.d.comb += self.then.eq(self.now)
        # Where fewer than all take turns the first places are in use.
        last = {} if used is None else {0: used[0], 1: used[1]}
        for place, (register, following) in enumerate(zip(self.places, [*self.places[1:], self.then])):
            m.d.sync += register.eq(Mux(last[place], self.then, following) if place in last else following)
