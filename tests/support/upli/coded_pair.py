"""Both agents without a code, and beside each one with: the same goes into both, with a right code."""

from amaranth.hdl import Cat, Const, ResetInserter, Signal, Value
from amaranth.lib.wiring import In

from support.upli.pair import CHANNELS, Pair
from ualink.lib.parity import protects_data
from ualink.upli.code import beat_code, control_wrong, data_wrong

__all__ = ["CodedPair"]


class CodedPair(Pair):
    """A ``Pair`` to which ``Traffic`` goes; ``check`` compares it with the agents beside it, in all that they give, and
    demands a right code of each beat that these give: none but zeros without parity over data.

    Where they are ``choosable`` the ones beside are for four ports, of which so many are used.
    """

    def __init__(self, config, ports, faults=(), *, choosable=False):
        super().__init__(config, ports, faults)
        own = self.originator, self.completer
        self._twins = [type(a)(config, 4 if choosable else ports, coded=True, choosable=choosable) for a in own]
        self._seen: list[str] = []
        self._differs: list[Value] = []
        self.differs = Signal(1024)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for agent, twin in zip((self.originator, self.completer), self._twins):
            m.submodules[f"coded_{type(twin).__name__}"] = ResetInserter(self.reset)(twin)
            if twin.choosable:
                m.d.comb += twin.used.eq(self.ports)
            theirs = {path: value for path, _, value in twin.signature.flatten(twin)}
            for path, member, value in agent.signature.flatten(agent):
                if isinstance(value, Const):
                    continue
                value, other = Value.cast(value), theirs[path]
                if path[0] in CHANNELS and path[-1] == "payload":
                    self._beat(m, twin, path, member, getattr(agent, path[0])[path[1]].p, other)
                elif member.flow == In:
                    m.d.comb += other.eq(value)
                else:
                    self._expect(path, value != Value.cast(other))
        m.d.comb += self.differs.eq(Cat(self._differs))
        return m

    def _beat(self, m, twin, path, member, beat, coded):
        """The beats of both at ``path``, and the code of one."""
        channel, port, _ = path
        bits = Value.cast(beat)
        if member.flow == In:
            m.d.comb += Value.cast(coded)[: len(bits)].eq(bits)
            m.d.comb += [coded.code[name].eq(value) for name, value in beat_code(channel, beat).items()]
            return
        valid, code = getattr(twin, channel)[port].valid, coded.code
        self._expect(path, bits != Value.cast(coded)[: len(bits)])
        wrong = control_wrong(channel, coded, code) | data_wrong(channel, coded, code)
        self._expect((*path, "code"), valid & (wrong if protects_data() else Value.cast(code).any()))

    def _expect(self, path, differs):
        self._seen.append(".".join(map(str, path)))
        self._differs.append(differs)

    def check(self, ctx, told) -> None:
        differs = ctx.get(self.differs)
        assert not differs, ([path for n, path in enumerate(self._seen) if differs >> n & 1], told)
