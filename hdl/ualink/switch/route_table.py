"""The route table of a station: Destination Accelerator ID to egress port, or Deny (UALink_200 §10.7)."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ualink.config import SwitchConfig
from ualink.lib.ports_used import existing, used_member

__all__ = ["LookupSignature", "RouteConfigSignature", "RouteTable", "chosen_members", "route_entry_layout"]

ID_BITS = 10


def route_entry_layout(stations: int) -> data.StructLayout:
    """One entry of the table of a switch with ``stations`` stations (UALink_200 §10.7).

    ``deny[p]``: items that entered by port p of the station are dropped; ``egress_station``, ``egress_port``: where the
    others leave.
    """
    return data.StructLayout({"deny": 4, "egress_station": max(1, bits_for(stations - 1)), "egress_port": 2})


class LookupSignature(wiring.Signature):
    """A lookup, seen from the ingress that asks.

    Attributes
    ----------
    look : in this cycle ``dst_phys_acc_id`` is looked up.
    dst_phys_acc_id : 10 bit, the key, of Requests and Responses alike (UALink_200 §10.7).
    egress : index ``station * ports + port`` of the egress port, from the cycle after ``look`` to that of the next.
    denied : in the same cycles: the item is to be dropped, ``egress`` means nothing.
    wrong : in the same cycles: the parity of the entry does not fit, so that nobody knows where the item was to go, and
        neither ``egress`` nor ``denied`` means anything.
    """

    def __init__(self, egresses: int):
        super().__init__(
            {
                "look": Out(1),
                "dst_phys_acc_id": Out(ID_BITS),
                "egress": In(range(egresses)),
                "denied": In(1),
                "wrong": In(1),
            }
        )


class RouteConfigSignature(wiring.Signature):
    """Access of the management to one table, seen from the management.

    Attributes
    ----------
    ready : low while the table denies all its entries after reset; a write is then lost.
    index : 10 bit, the entry.
    write, write_data : replaces the whole entry by ``write_data`` in this cycle, an index that the table does not have
        is ignored; the entry, ``deny`` of ports 3..0 in its low bits, egress station and egress port above.
    read_data : the entry of the ``index`` of the cycle before; Deny for all ports if the table does not have it.
    read_wrong : 1 bit, with it: its parity does not fit.
    """

    def __init__(self, stations: int):
        entry = route_entry_layout(stations)
        super().__init__(
            {
                "ready": In(1),
                "index": Out(ID_BITS),
                "write": Out(1),
                "write_data": Out(entry),
                "read_data": In(entry),
                "read_wrong": In(1),
            }
        )


def chosen_members(config: SwitchConfig) -> dict[str, wiring.Member]:
    """``used`` and ``denied_station``, of each station, where the number of ports is chosen."""
    if not config.station.choosable_ports:
        return {}
    members = used_member(True) | {"denied_station": In(1)}
    return {name: member.array(config.stations) for name, member in members.items()}


class RouteTable(wiring.Component):
    """Route table of one station, shared by its ports (UALink_200 §10.7, §10.7.1).

    Memories keep their contents through a reset, so for the first ``route_entries`` cycles after one the table writes
    Deny for all ports into entry after entry, and denies every lookup meanwhile. Denied as well are Accelerator IDs
    beyond the table (ruling C-04) and entries whose egress station or port does not exist in this switch (ruling C-07).

    A lookup takes one cycle and sees an entry as it was before or after a write, never a mix (ruling C-08). Each port
    has one lookup for each plane in every cycle: each has its own copy of the table, and so has the read-back.

    The copy for lookups of a port has of each entry only what this port asks: whether the entry denies it, or leads to
    no station or port of this switch, and where it leads. The copy that is read back has the whole entry.

    Each entry has a parity bit in each copy, formed as it is written and checked with each lookup (UALink_200 §3.1.1).

    Attributes
    ----------
    lookup_req, lookup_rd_rsp, lookup_wr_rsp : one ``LookupSignature`` for each ingress port of the station.
    config : ``RouteConfigSignature``; ``ready`` is low after reset.
    used, denied_station : (*) as of ``SwitchCore``; a port that is not used does not exist.

    That marked (*) exists only where the number of ports is chosen.
    """

    def __init__(self, config: SwitchConfig):
        self.stations = config.stations
        self.ports = config.station.ports
        self.depth = config.route_entries
        self._choosable = config.station.choosable_ports
        self.entry_layout = route_entry_layout(config.stations)
        port_bits = bits_for(self.ports - 1) if self.ports > 1 else 0
        station_bits = self.entry_layout["egress_station"].width
        self.way_layout = data.StructLayout({"denied": 1, "egress_port": port_bits, "egress_station": station_bits})
        lookup = LookupSignature(self.stations * self.ports)
        super().__init__(
            {
                "lookup_req": In(lookup).array(self.ports),
                "lookup_rd_rsp": In(lookup).array(self.ports),
                "lookup_wr_rsp": In(lookup).array(self.ports),
                "config": In(RouteConfigSignature(self.stations)),
                **chosen_members(config),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        sweep_index = Signal(range(self.depth))
        write_index = Signal(range(self.depth))
        write_data = Signal(self.entry_layout)
        write = Signal()
        with m.If(config.ready):
            m.d.comb += [
                write.eq(config.write & (config.index < self.depth)),
                write_index.eq(config.index),
                write_data.eq(config.write_data),
            ]
        with m.Else():
            m.d.comb += [write.eq(1), write_index.eq(sweep_index), write_data.deny.eq(0b1111)]
            m.d.sync += sweep_index.eq(sweep_index + 1)
            with m.If(sweep_index == self.depth - 1):
                m.d.sync += config.ready.eq(1)

        def copy(name: str, entry, index, enable):
            """What was written as ``entry`` at ``index`` of the last cycle with ``enable``, from a copy of the table of
            its own, and if its parity does not fit."""
            row = data.StructLayout({"entry": entry.shape(), "parity": 1})
            table = memory.Memory(shape=row, depth=self.depth, init=[])
            m.submodules[name] = table
            write_port = table.write_port()
            read_port = table.read_port()
            m.d.comb += [
                write_port.addr.eq(write_index),
                write_port.data.entry.eq(entry),
                write_port.data.parity.eq(entry.as_value().xor()),
                write_port.en.eq(write),
                read_port.addr.eq(index),
                read_port.en.eq(enable),
            ]
            return read_port.data.entry, read_port.data.as_value().xor()

        read_back, read_wrong = copy("table_config", write_data, config.index, 1)
        read_missing = Signal(init=1)
        m.d.sync += read_missing.eq(~config.ready | (config.index >= self.depth))
        m.d.comb += [config.read_data.eq(read_back), config.read_wrong.eq(read_wrong & ~read_missing)]
        with m.If(read_missing):
            m.d.comb += [config.read_data.eq(0), config.read_data.deny.eq(0b1111)]

        ways = [self._way_of(m, write_data, port) for port in range(self.ports)]
        for plane in ("req", "rd_rsp", "wr_rsp"):
            for port, lookup in enumerate(getattr(self, f"lookup_{plane}")):
                way, wrong = copy(f"table_{plane}_{port}", ways[port], lookup.dst_phys_acc_id, lookup.look)
                missing = Signal(init=1, name=f"missing_{plane}_{port}")
                with m.If(lookup.look):
                    m.d.sync += missing.eq(~config.ready | (lookup.dst_phys_acc_id >= self.depth))
                m.d.comb += [
                    lookup.denied.eq(missing | way.denied | ~self._is_used(way)),
                    lookup.egress.eq(Cat(way.egress_port, way.egress_station)),
                    lookup.wrong.eq(wrong & ~missing),
                ]
        return m

    def _way_of(self, m, entry, port: int):
        """``entry`` as port ``port`` goes by it."""
        denied = Signal(name=f"denied_to_{port}")
        leads = entry.egress_port[: self.way_layout["egress_port"].width]
        m.d.comb += denied.eq(
            entry.deny[port] | (entry.egress_station >= self.stations) | (entry.egress_port >= self.ports)
        )
        # No signal: as parts of one they would look to simulators as if they made each other.
        return data.View(self.way_layout, Cat(denied, leads, entry.egress_station))

    def _is_used(self, way):
        """1 bit: the port exists that ``way``, if it is not denied, leads to."""
        if not self._choosable:
            return Const(1)
        ports = Array(Mux(denied, 0, existing(used)) for used, denied in zip(self.used, self.denied_station))
        return ports[way.egress_station].bit_select(way.egress_port, 1)
