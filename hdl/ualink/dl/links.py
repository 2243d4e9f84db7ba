"""The data links of all ports of a station on one data path."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import DLConfig
from ualink.dl.interface import tl_flit_signature
from ualink.dl.layer import DataLink
from ualink.dl.registers.firmware import FULL_RATE
from ualink.lib.interleave import Interleaver
from ualink.lib.ports_used import of_turn, slot_after, tell_next, turns, used_member
from ualink.lib.select import select_one
from ualink.phy.interface import BEATS_PER_FLIT, RSSignature

__all__ = ["FIRMWARE_MEMBERS", "Links"]

FIRMWARE_MEMBERS = ("uart_tx", "uart_rx", "config", "status")
"""Members of a data link that exist once per port."""


class Links(wiring.Component):
    """``DataLink`` for one, two or four ports, which take turns cycle by cycle.

    Parameters
    ----------
    config : of each port.
    ports : 1, 2 or 4.
    choosable : it does what one for as many ports does as are ``used``, which share out the TxReplay of ``config``.
        Status is late for one port as for several.

    Members
    -------
    used : (*) as of ``ports_used``; it changes in reset only.
    slot : the port that this cycle belongs to: 0, 1, … ``ports`` - 1, 0, ….
    tx_flit, rx_flit, online, tl_error : towards the TL, of the port of this cycle.
    own_rate : as of ``DataLink``, for all ports.
    rs : the reconciliation sublayer. A beat for port p is given in the cycles of p, and one that comes in a cycle of
        another port is none.
    uart_tx, uart_rx : per port, dwords that firmware writes and reads, which move in the cycles of the port only.
    config, status : per port. What ``config`` and faults say holds from the next cycle on. Status of several ports
        shows how it was in the last cycle of the port, and a pulse lasts from one such cycle to the next.

    That marked (*) exists only where ports are ``choosable``.
    """

    def __init__(self, config: DLConfig, ports: int, *, choosable: bool = False):
        self._ports = ports
        self._choosable = choosable
        self._link = DataLink(config, shared=True) if choosable else DataLink(config)
        self._replay_rows = config.replay_depth * BEATS_PER_FLIT
        members = self._link.signature.members
        super().__init__(
            {
                **used_member(choosable),
                "slot": In(2),
                "tx_flit": In(tl_flit_signature()),
                "rx_flit": Out(tl_flit_signature(always_ready=True)),
                "online": Out(1),
                "own_rate": In(16, init=FULL_RATE),
                "tl_error": In(1),
                "rs": Out(RSSignature()),
                **{name: members[name].array(ports) for name in FIRMWARE_MEMBERS},
            }
        )

    def elaborate(self, platform):
        m = Module()
        link = self._link
        used = self.used if self._choosable else None
        turn = turns(m, self.slot, self._ports, used)
        m.submodules.link = Interleaver(self._ports, self.slot, used=used)(link)
        if self._choosable:
            rows = self._replay_rows
            first_rows = self.slot[0] * (rows // 2), self.slot * (rows // 4)
            m.d.comb += [link.share.eq(self.used), link.first_row.eq(select_one(self.used[1:], first_rows))]
        connect(m, flipped(self.tx_flit), link.tx_flit)
        connect(m, link.rx_flit, flipped(self.rx_flit))
        m.d.comb += [
            self.online.eq(link.online),
            link.own_rate.eq(self.own_rate),
            link.tl_error.eq(self.tl_error),
            self.rs.rx.ready.eq(1),
            link.rx.p.eq(self.rs.rx.p),
            link.rx.valid.eq(self.rs.rx.valid & (self.rs.rx.p.port == self.slot)),
            link.tx.ready.eq(self.rs.tx.ready),
            self.rs.tx.valid.eq(link.tx.valid),
            self.rs.tx.p.eq(link.tx.p),
            self.rs.tx.p.port.eq(self.slot),
        ]
        following = slot_after(self.slot, self._ports, used)
        for name in ("local_fault", "remote_fault"):
            # Nobody has said yet that the link could be used.
            faults = getattr(self.rs, name)[: self._ports]
            m.d.sync += tell_next(m, getattr(link, name), following, faults, init=name == "local_fault")
        for name in link.config.signature.members:
            settings = [getattr(config, name) for config in self.config]
            m.d.sync += tell_next(m, getattr(link.config, name), following, settings)
        self._connect_firmware(m, link, turn)
        return m

    def _connect_firmware(self, m, link, turn):
        m.d.comb += [
            link.uart_tx.valid.eq(of_turn(turn, [tx.valid for tx in self.uart_tx])),
            link.uart_tx.p.eq(of_turn(turn, [tx.p for tx in self.uart_tx])),
            link.uart_rx.ready.eq(of_turn(turn, [rx.ready for rx in self.uart_rx])),
        ]
        for number, here in enumerate(turn):
            m.d.comb += [
                self.uart_tx[number].ready.eq(link.uart_tx.ready & here),
                self.uart_rx[number].valid.eq(link.uart_rx.valid & here),
                self.uart_rx[number].p.eq(link.uart_rx.p),
            ]
            for name in link.status.signature.members:
                now = getattr(self.status[number], name).eq(getattr(link.status, name))
                if self._ports == 1:
                    m.d.comb += now
                else:
                    with m.If(here):
                        m.d.sync += now
