"""The sending side of one channel (UALink_200 §2.5-2.7)."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.lib.parity import protects_data
from ualink.lib.ports_used import used_member
from ualink.upli.calendar import check_ports
from ualink.upli.channels import (
    CHANNEL_LAYOUTS,
    CODED_LAYOUTS,
    PROTECTED_BITS,
    OrigDataSignature,
    RdRspSignature,
    ReqSignature,
    WrRspSignature,
)
from ualink.upli.code import code_of, recoded, wrong
from ualink.upli.lean_credits import sender_credits
from ualink.upli.parity import CONTROL_COVER, DATA_COVER, beat_parity, even_parity, with_port

__all__ = ["CHANNEL_SIGNATURES", "POISON", "Sender"]

CHANNEL_SIGNATURES = {
    "req": ReqSignature,
    "orig_data": OrigDataSignature,
    "rd_rsp": RdRspSignature,
    "wr_rsp": WrRspSignature,
}

POISON = {"orig_data": "error", "rd_rsp": "data_error"}
"""The field of a data channel that marks a beat's data as corrupt."""

UNCOVERED = ("asi", "auth_tag")
"""Fields that no parity of UPLI covers (ruling A-12 of UPLI)."""


class Sender(wiring.Component):
    """Drives one channel from registers: what is sent in cycle t is on the interface in cycle t + 1.

    Parity is generated here. AuthTag is 0 without a beat (requirements 150, 228, 264), the data of a poisoned beat is 0
    (ruling A-44 of UPLI). Without a beat other fields show one that waits, or the last one: they are known earlier than
    whether it goes. Whoever uses this block decides that: in the slot of its port, contiguous, and only as many as
    ``available`` allows.

    Of a beat with a code parity is made of the code: one over control is wrong if the code of control is, that of data
    and of byte enables is their code. The ``UNCOVERED`` fields of a beat that waits on the interface keep one bit, and
    the parity goes wrong when they change.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    ports : 1, 2 or 4.
    choosable : there is ``used``, as of ``ports_used``: how many ports are.
    coded : ``beat`` has a code, as the beats of ``beat_stream``.

    Attributes
    ----------
    upli : the channel.
    connected : 1 bit, both directions of the interface are open; ``listen``: credits may come in.
    slot : port that owns this cycle.
    beat : what would be sent for that port, unless ``hold``, 1 bit, as of ``Departure``.
    vc : 4 bits, bit n: the beat that may be sent is of VC n; ``auth_tag`` : 64 bits of it; ``kept_tag`` : as of
        ``Departure``.
    available : 4 bits, bit n: more than n credits are there for that VC.
    send : 1 bit, that beat is sent; only with ``available``.
    control_error, protocol_error : 1 bit, of this cycle's credit return: wrong parity; more credits than can be
    counted.
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
        self.config = config
        self.ports = check_ports("sender", ports, choosable)
        self._choosable, self._coded = choosable, coded
        # Only then a beat waits on the interface.
        self._watches = coded and (ports == 1 or choosable) and "auth_tag" in CHANNEL_LAYOUTS[channel].members
        super().__init__(
            {
                **used_member(choosable),
                "upli": Out(CHANNEL_SIGNATURES[channel]()),
                "connected": In(1),
                "listen": In(1),
                "slot": In(2),
                "beat": In((CODED_LAYOUTS if coded else CHANNEL_LAYOUTS)[channel]),
                "hold": In(1),
                "vc": In(4),
                "auth_tag": In(64),
                **({"kept_tag": In(64)} if self._watches else {}),
                "available": Out(4),
                "send": In(1),
                "control_error": Out(1),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.credits = credits = sender_credits(self.config, self.ports, choosable=self._choosable)
        if self._choosable:
            m.d.comb += credits.used.eq(self.used)
        wiring.connect(m, credits.credit, wiring.flipped(self.upli.credit))
        m.d.comb += [
            credits.listen.eq(self.listen),
            credits.port.eq(self.slot),
            credits.vc.eq(self.vc),
            credits.spend.eq(self.send),
            self.available.eq(Mux(self.connected, credits.available, 0)),
            self.control_error.eq(credits.control_error),
            self.protocol_error.eq(credits.overflow),
        ]
        layout = CHANNEL_LAYOUTS[self.channel]
        driven = [("port_id", self.slot)] + [(name, self.beat[name]) for name, _ in layout if name != "auth_tag"]
        driven += self._parity().items()
        poison, registers = POISON.get(self.channel), {}
        for name, value in driven:
            output = getattr(self.upli, name)
            registers[name] = register = Signal.like(output, name=name, reset_less=True)
            m.d.comb += output.eq(register)
            with m.If(~self.hold):
                m.d.sync += register.eq(value)
                # Parity is made of the data as they come: that of zeros is zero, too.
                if poison is not None and name in ("data", "data_parity"):
                    with m.If(self.beat[poison]):
                        m.d.sync += register.eq(0)
        m.d.sync += [
            self.upli.vld.eq(self.send),
            self.upli.vld_parity.eq(even_parity(self.send)),
            self.upli.pool.eq(credits.pool),
        ]
        if "auth_tag" in layout.members:
            m.d.sync += self.upli.auth_tag.eq(Mux(self.send, self.auth_tag, 0))
            if self._watches:
                self._watch_uncovered(m, registers)
        return m

    def _parity(self) -> dict[str, Value]:
        """The parity of ``beat``, which is that of this cycle's port."""
        made = beat_parity(self.channel, with_port(self.beat, self.slot))
        if not self._coded or not protects_data():
            return made
        code, name = self.beat.code, _code_shows_in(self.channel)
        # What is covered by both, the fields of this parity, has not to be looked at.
        others = [
            getattr(self.beat, field)
            for field, _ in CHANNEL_LAYOUTS[self.channel]
            if field not in (*CONTROL_COVER[self.channel][name], *PROTECTED_BITS)
        ]
        made[name] = recoded(self.slot, of=tuple(others), code=code.control)
        return made | {parity: code[field] for parity, field in DATA_COVER[self.channel].items()}

    def _watch_uncovered(self, m, registers):
        """Makes a parity wrong, once, when an ``UNCOVERED`` field of the beat that waits on the interface changes."""
        kept = Signal(name="uncovered_code", reset_less=True)
        # Of several ports none has its beat wait there.
        waits = self.hold if self.ports == 1 else self.hold & self.used[0]
        here, coming = [self.kept_tag], [self.beat.auth_tag]
        if "asi" in registers:
            here.append(registers["asi"])
            coming.append(self.beat.asi)
        m.d.sync += kept.eq(Mux(waits, code_of(*here), code_of(*coming)))
        parity = registers[_code_shows_in(self.channel)]
        with m.If(waits):
            m.d.sync += parity.eq(parity ^ wrong(kept, *here))


def _code_shows_in(channel: str) -> str:
    """The parity of ``channel`` that is wrong if the code of control is."""
    return list(CONTROL_COVER[channel])[-1]
