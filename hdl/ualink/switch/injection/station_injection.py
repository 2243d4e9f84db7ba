"""Injection at one station of a switch: items towards the core and towards the links, errors of the UPLI between."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.switch.injection.interface import InjectionSignature, ItemKind, StrikePoint, Towards
from ualink.switch.injection.request_insertion import RequestInsertion
from ualink.switch.injection.response_insertion import ResponseInsertion
from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, beat_stream
from ualink.upli.code import beat_code
from ualink.upli.commands import has_orig_data

__all__ = ["StationInjection"]

_RESPONSES = {"rd_rsp": ItemKind.READ_RESPONSE, "wr_rsp": ItemKind.WRITE_RESPONSE}


class StationInjection(wiring.Component):
    """Puts the item of ``control`` once into the way that it names, and spoils the beat that it names.

    Unless ``allowed`` and ``control.enable`` are both high all ways are wires, and nothing is spoilt; an item that is
    on offer when one of them falls still goes, because what was offered must.

    Parameters
    ----------
    ports : of the station.

    Members
    -------
    control : ``InjectionSignature``.
    allowed : 1 bit, out of the secure firmware's hands.
    link_in_req, link_in_orig_data, link_in_rd_rsp, link_in_wr_rsp : what the links brought, per port.
    core_out_req, core_out_orig_data, core_out_rd_rsp, core_out_wr_rsp : the same on its way to the core.
    core_in_req, core_in_orig_data, core_in_rd_rsp, core_in_wr_rsp : what the core forwards, per port.
    link_out_req, link_out_orig_data, link_out_rd_rsp, link_out_wr_rsp : the same on its way to the links.
    spoil : 8 bits, by ``StrikePoint``: to the ``UPLIStrike`` there.
    shown : 8 bits, by ``StrikePoint``: there is a beat.
    idle : 1 bit, reset value 1: all ways are wires.
    """

    def __init__(self, ports: int):
        self.ports = ports
        super().__init__(
            {
                "control": In(InjectionSignature()),
                "allowed": In(1),
                **{
                    f"{end}_{channel}": flow(beat_stream(channel, coded=True)).array(ports)
                    for end, flow in (("link_in", In), ("core_out", Out), ("core_in", In), ("link_out", Out))
                    for channel in CHANNEL_LAYOUTS
                },
                "spoil": Out(len(StrikePoint)),
                "shown": In(len(StrikePoint)),
                "idle": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        on = Signal()
        m.d.comb += [
            on.eq(self.allowed & control.enable),
            control.allowed.eq(self.allowed),
            self.spoil.eq(Mux(on & control.strike, 1 << Value.cast(control.point), 0)),
            control.struck.eq((self.spoil & self.shown).any()),
        ]
        beats = self._beats(m)
        stages: list[RequestInsertion | ResponseInsertion] = []
        for towards, came, leaves in ((Towards.CORE, "link_in", "core_out"), (Towards.LINK, "core_in", "link_out")):
            for port in range(self.ports):
                here = Signal(name=f"towards_{leaves}_{port}")
                m.d.comb += here.eq(on & control.inject & (control.towards == towards) & (control.port == port))
                m.submodules[f"{leaves}_req_{port}"] = requests = RequestInsertion()
                for channel in ("req", "orig_data"):
                    connect(m, flipped(getattr(self, f"{came}_{channel}")[port]), getattr(requests, f"{channel}_in"))
                    connect(m, getattr(requests, f"{channel}_out"), flipped(getattr(self, f"{leaves}_{channel}")[port]))
                m.d.comb += [
                    requests.insert.eq(here & (control.kind == ItemKind.REQUEST)),
                    requests.request.eq(beats["req"]),
                    requests.beat.eq(beats["orig_data"]),
                ]
                stages.append(requests)
                for channel, kind in _RESPONSES.items():
                    m.submodules[f"{leaves}_{channel}_{port}"] = responses = ResponseInsertion(channel)
                    connect(m, flipped(getattr(self, f"{came}_{channel}")[port]), responses.beats_in)
                    connect(m, responses.beats_out, flipped(getattr(self, f"{leaves}_{channel}")[port]))
                    m.d.comb += [
                        responses.insert.eq(here & (control.kind == kind)),
                        responses.beat.eq(beats[channel]),
                    ]
                    stages.append(responses)
        m.d.comb += [
            control.injected.eq(Cat(stage.inserted for stage in stages).any()),
            self.idle.eq(Cat(stage.idle for stage in stages).all()),
        ]
        return m

    def _beats(self, m):
        """The item as a coded beat of each channel."""
        item = self.control.item
        beats = {channel: Signal(layout, name=f"item_{channel}") for channel, layout in CHANNEL_LAYOUTS.items()}
        for channel, layout in CHANNEL_LAYOUTS.items():
            for name, _ in layout:
                if name in item.shape().members and name not in ("data", "error"):
                    m.d.comb += beats[channel][name].eq(item[name])
        for channel, poison in (("orig_data", "error"), ("rd_rsp", "data_error")):
            beat = beats[channel]
            m.d.comb += [
                beat.data.eq(item.data.replicate(len(beat.data) // len(item.data))),
                beat[poison].eq(item.error),
                beat.offset.eq(0),
                beat.last.eq(1),
            ]
        m.d.comb += [beats["orig_data"].byte_en.eq(-1), beats["rd_rsp"].num_beats.eq(0)]
        with m.If(has_orig_data(item.cmd)):
            m.d.comb += beats["req"].num_beats.eq(0)
        coded = {}
        for channel, beat in beats.items():
            code = Signal(CODE_LAYOUTS[channel], name=f"item_{channel}_code")
            m.d.comb += [code[name].eq(value) for name, value in beat_code(channel, beat).items()]
            coded[channel] = Cat(beat, code)
        return coded
