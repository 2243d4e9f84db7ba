"""Puts fields in front of the packing arbiter and checks every half-flit that it forms against the executable model."""

import functools
import random

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from support.tl.packer_scene import LIMIT_OF, Formed, is_compressed
from ualink.config import TLConfig
from ualink.tl.control import LIMITS_LAYOUT, NATURAL_LIMITS
from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, SourceRateLimit
from ualink.tl.format.half_flits import FIELD_FORM_LAYOUT
from ualink.tl.pack.limits import within
from ualink.tl.pack.packer import Packer
from ualink.tl.pack.request_share import rows_of
from ualink.tl.pack.stack import fits, stacks
from ualink_sim.model.tl.credits import check_flow_control
from ualink_sim.model.tl.fields import (
    FlowControl,
    decode_control_half_flit,
    encode_control_half_flit,
)


def _form(entry):
    return {name: entry[name] for name in ("compressed", "job")}


class PackerBench:
    """Sets the inputs of ``dut`` for a ``Scene`` and checks what it forms; ``rate_limits`` count what is taken."""

    def __init__(self, ctx, dut, inputs, rng):
        self.ctx, self.dut, self.inputs, self.rng = ctx, dut, inputs, rng
        self.rate_limits = ()
        self.tags, self.jobs = {}, {}

    def _entry(self, control):
        """A field as the intakes give it; whatever else its data job says is handed on as it is."""
        rng = self.rng
        job = {
            "half_flits": control.half_flits(),
            "source": int(control.is_response),
            "num_beats": rng.getrandbits(2),
            "byte_enables": rng.getrandbits(1),
            "slot": rng.getrandbits(2),
        }
        self.tags[id(control)], self.jobs[id(control)] = rng.getrandbits(64), job
        return {
            "field": control.encode(),
            "compressed": is_compressed(control),
            "auth_tag": self.tags[id(control)],
            "job": job,
        }

    def _set_content(self, sink, entry):
        """What goes into the half-flit of an entry, with its code (``FIELD_CODE_LAYOUT``)."""
        field, half = entry["field"], Value.cast(sink.field).shape().width // 2
        auth_tag = entry.get("auth_tag", self.rng.getrandbits(64))
        code = {
            "low": ((field & (1 << half) - 1).bit_count() + entry["compressed"]) & 1,
            "high": (field >> half).bit_count() & 1,
            "auth_tag": auth_tag.bit_count() & 1,
        }
        self.ctx.set(sink, {"field": field, "auth_tag": auth_tag, "code": code})

    def show(self, scene, pack=False):
        """Drive the inputs, all at once; entries that are not there hold what may not matter."""
        rng = self.rng
        self.tags, self.jobs = {}, {}

        def entries(fields, most, width):
            for n in range(most):
                stale = {"field": rng.getrandbits(width), "compressed": rng.getrandbits(1), "job": {"half_flits": 8}}
                yield self._entry(fields[n]) if n < len(fields) else stale

        requests, responses = list(entries(scene.requests, 4, 128)), list(entries(scene.responses, 8, 64))
        self.contents, self.shared_data = (requests, responses), scene.shared_data
        self.ctx.set(
            self.inputs,
            {
                "pack": pack,
                "requests": [_form(entry) for entry in requests],
                "request_valid": (1 << min(4, len(scene.requests))) - 1,
                "request_allowance": (1 << scene.allowances[0]) - 1,
                "responses": [_form(entry) for entry in responses],
                "response_valid": (1 << min(8, len(scene.responses))) - 1,
                "response_allowance": (1 << scene.allowances[1]) - 1,
                "fc": [control.encode() if control else 0 for control in scene.fc],
                "fc_valid": sum(1 << n for n, control in enumerate(scene.fc) if control),
                "fc_urgent": scene.urgent,
                "limits": dict(zip(NATURAL_LIMITS, scene.limits)),
                **{name: getattr(scene, name) for name in ("swap", "authentication", "complete", "shared_data")},
            },
        )

    async def form(self, scene, pack=True):
        """Show ``scene``, check what would be taken, and if ``pack`` take it in this cycle and check the half-flit."""
        ctx, dut = self.ctx, self.dut
        self.show(scene, pack)
        counts = ctx.get(dut.counts)
        owe = ctx.get(dut.requests_owe), ctx.get(dut.responses_owe)
        assert owe == (counts.request_half_flits > 0, sum(counts.response_half_flits) > 0)
        wants = any(scene.can_go()) or scene.complete or (scene.urgent and any(scene.fc))
        assert ctx.get(dut.offered) == bool(wants)
        taken = (*(self._taken(kind) for kind in ("request", "response")), ctx.get(dut.fc_take))
        assert ctx.get(dut.complete_taken) == (pack and scene.complete)
        goes = tuple(ctx.get(value) for value in (dut.requests_go, dut.responses_go, dut.request_below))
        if not pack:
            assert taken == (0, 0, 0)
            await ctx.tick()
            return Formed([], scene.requests[: counts.requests], scene.responses[: counts.responses], [])
        content = await self._content()
        if scene.complete:
            formed = self._check_message(scene, counts, content, goes)
        else:
            formed = self._check_control(scene, counts, content, goes)
        mask = sum(1 << scene.fc.index(control) for control in formed.fc)
        assert taken == ((1 << len(formed.requests)) - 1, (1 << len(formed.responses)) - 1, mask)
        return formed

    def _taken(self, kind):
        """What ``FieldsInSight`` is told to give."""
        chosen = self.ctx.get(getattr(self.dut, f"{kind}_chosen"))
        assert chosen.bit_count() == 1 and chosen & 1 | self.ctx.get(self.inputs.pack)
        return 0 if chosen & 1 else self.ctx.get(getattr(self.dut, f"{kind}_takes")[chosen.bit_length() - 2])

    async def _content(self):
        """What is made of what is taken in this cycle, while all other inputs are something else."""
        ctx, rng = self.ctx, self.rng
        contents, jobs = self.contents, (self.tags, self.jobs)
        await ctx.tick()
        noise = INPUTS_LAYOUT.from_bits(rng.getrandbits(INPUTS_LAYOUT.size))
        ctx.set(self.inputs, noise)
        ctx.set(self.inputs.pack, 0)
        ctx.set(self.inputs.fc_valid, (1 << rng.randint(0, 5)) - 1)
        ctx.set(self.inputs.shared_data, self.shared_data)
        for name, entries in zip(("request_contents", "response_contents"), contents):
            for n, entry in enumerate(entries):
                self._set_content(getattr(self.dut, name)[n], entry)
        self.tags, self.jobs = jobs
        content = ctx.get(self.dut.content)
        assert content.code == content.data.bit_count() + content.message & 1
        if rng.random() < 0.3:
            # It stays for as long as it must wait, while its fields give way to others.
            await ctx.tick()
            for name, width in (("request_contents", 128), ("response_contents", 64)):
                for entry in getattr(self.dut, name):
                    ctx.set(entry.field, rng.getrandbits(width))
            assert ctx.get(self.dut.content) == content
        return content

    def _check_message(self, scene, counts, content, goes):
        assert counts.message and content.message and content.data == 0x01 | scene.shared_data << 8
        assert not (counts.requests or counts.responses or counts.some or counts.tagged)
        assert not (counts.request_half_flits or sum(counts.response_half_flits))
        assert goes[:2] == (0, 0)
        return Formed([], [], [], [])

    def _check_control(self, scene, counts, content, goes):
        """Every rule for one Control half-flit by itself."""
        image = content.data.to_bytes(32, "little")
        placed = decode_control_half_flit(image)  # legal FTYPEs and footprints
        assert encode_control_half_flit(placed) == image and not content.message and not counts.message
        sent = [control for _, control in placed]
        formed = Formed(
            placed,
            [control for control in sent if control.is_request],
            [control for control in sent if control.is_response],
            [control for control in sent if isinstance(control, FlowControl)],
        )
        check_flow_control(sent)
        # In order, oldest first, each as often as it waits.
        assert formed.requests == scene.requests[: len(formed.requests)]
        assert formed.responses == scene.responses[: len(formed.responses)]
        assert all(control in scene.fc for control in formed.fc)
        assert (counts.requests, counts.responses) == formed.counts[:2]
        assert all(count <= allowance for count, allowance in zip(formed.counts, scene.allowances))
        used = [0] * 5
        for control in sent:
            used[LIMIT_OF[type(control).__name__]] += 1
        assert all(count <= max(1, limit) for count, limit in zip(used, scene.limits))
        self._check_jobs(placed, counts, scene, goes)
        if scene.swap and scene.authentication:
            assert not formed.requests and not formed.responses
        self._check_tags(scene, counts, content, formed)
        return formed

    def _entries(self, placed, scene):
        """(sector, the very field shown) of each Request and Response; equal ones come in the order shown."""
        queues = iter(scene.requests), iter(scene.responses)
        for sector, control in placed:
            if not isinstance(control, FlowControl):
                yield sector, next(queues[control.is_response])

    def _check_jobs(self, placed, counts, scene, goes):
        """Which data follow, and in which order, is known from what goes and from where Request 0 stands."""
        requests, responses, request_below = goes
        assert (requests, responses) == ((1 << counts.requests) - 1, (1 << counts.responses) - 1)
        requests, responses = scene.requests[: counts.requests], scene.responses[: counts.responses]
        below = 1 if request_below else 0
        told = [*requests[:below], *responses, *requests[below:]]
        assert [id(control) for control in told] == [id(control) for _, control in self._entries(placed, scene)]
        owed = sum(control.half_flits() for _, control in placed)
        assert counts.request_half_flits + sum(counts.response_half_flits) == owed
        assert (counts.some, counts.two) == (owed > 0, owed == 2)

    def _check_tags(self, scene, counts, content, formed):
        fields = list(self._entries(formed.placed, scene))
        assert counts.tagged == bool(scene.authentication and fields)
        if scene.authentication:
            assert len(fields) <= 4
            tags = [content.tags >> 64 * slot & (1 << 64) - 1 for slot in range(4)]
            assert content.tags_code == content.tags.bit_count() & 1
            assert tags == [self.tags[id(control)] for _, control in fields] + [0] * (4 - len(fields))


INPUTS_LAYOUT = data.StructLayout(
    {
        "pack": 1,
        "requests": data.ArrayLayout(FIELD_FORM_LAYOUT, 4),
        "request_valid": 4,
        "request_allowance": 4,
        "responses": data.ArrayLayout(FIELD_FORM_LAYOUT, 8),
        "response_valid": 8,
        "response_allowance": 8,
        "fc": data.ArrayLayout(32, 5),
        "fc_valid": 5,
        "fc_urgent": 1,
        "limits": LIMITS_LAYOUT,
        "swap": 1,
        "authentication": 1,
        "complete": 1,
        "shared_data": 1,
    }
)


@functools.cache
def _simulator(config):
    """A simulator of a packer that runs the body in ``job`` and can be run again after a reset."""
    m = Module()
    m.submodules.dut = dut = Packer(config)
    inputs = Signal(INPUTS_LAYOUT)
    for name, _ in INPUTS_LAYOUT:
        if name in (
            "limits",
            *(f"{kind}_{what}" for kind in ("request", "response") for what in ("valid", "allowance")),
        ):
            continue
        sink = getattr(dut, name)
        m.d.comb += (Cat(*sink) if name in ("requests", "responses", "fc") else Value.cast(sink)).eq(inputs[name])
    # What ``FieldsInSight`` says of the fields.
    with_tags = inputs.authentication if config.authentication else Const(0)
    for kind in ("request", "response"):
        short, eligible = Cat(form.compressed for form in inputs[f"{kind}s"]), inputs[f"{kind}_valid"]
        for form, those in (("compressed", short), ("uncompressed", ~short)):
            eligible = eligible & within(m, those, inputs.limits[f"{form}_{kind}s"], f"{form}_{kind}s")
        may = getattr(dut, f"{kind}_eligible")
        m.d.comb += [
            may.eq(eligible & inputs[f"{kind}_allowance"] & Mux(inputs.complete, 0, Mux(with_tags, 0b1111, -1))),
            getattr(dut, f"{kind}_tagged").eq(Mux(with_tags, may, 0)),
        ]
        if kind == "request":
            m.d.comb += dut.request_rows.eq(rows_of(short, may))
    m.d.comb += dut.response_stacks.eq(stacks(m, short))
    m.d.comb += dut.response_fits.eq(fits(dut.response_stacks, dut.response_eligible))
    m.d.comb += dut.flow_control_limit.eq(inputs.limits.flow_control)
    # A half-flit taken leaves with a flit in the same cycle.
    m.submodules.request_limit = request_limit = SourceRateLimit(REQUEST_LIMIT)
    m.submodules.response_limit = response_limit = SourceRateLimit(RESPONSE_LIMIT)
    m.d.comb += [
        request_limit.taken.eq(inputs.pack),
        request_limit.issued.eq(dut.requests_go),
        response_limit.taken.eq(inputs.pack),
        response_limit.issued.eq(dut.responses_go),
    ]
    job = {}

    async def testbench(ctx):
        bench = PackerBench(ctx, dut, inputs, random.Random(job["seed"]))
        bench.rate_limits = request_limit, response_limit
        await job["body"](bench)

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    return simulator, job


def simulate(body, *, config=None, seed=1):
    """Run ``await body(bench)`` on a packer that has just been reset."""
    simulator, job = _simulator(config or TLConfig())
    if job:
        simulator.reset()
    job.update(body=body, seed=seed)
    simulator.run()
