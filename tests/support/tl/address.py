"""What the tests of the Address Caches share: running them, cycle by cycle, against the models."""

import random

from amaranth.hdl import Module, Signal, Value
from amaranth.sim import Simulator

from ualink.lib.interleave import Interleaver
from ualink_sim.model.tl.address_policy import AddressPolicy, Answer
from ualink_sim.model.tl.fields import READ, WRITE, WRITE_FULL, UncompressedRequest

__all__ = ["TxReference", "drive_tx_cache", "flip", "job_of", "random_request", "set_request", "shared", "simulate"]


def simulate(design, bench) -> None:
    """Run ``bench`` on ``design`` with a clock."""
    simulator = Simulator(design)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def shared(component, contexts: int):
    """``component`` for ``contexts`` in turn, and whose turn it is."""
    m = Module()
    turn = Signal(range(max(contexts, 2)))
    if contexts > 1:
        m.d.sync += turn.eq(turn + 1)
    m.submodules.shared = Interleaver(contexts, turn)(component)
    return m, turn


def flip(ctx, storage, row: int, bit: int) -> None:
    """Change one bit of a row of a memory."""
    target = Value.cast(storage.data[row])
    ctx.set(target, ctx.get(target) ^ (1 << bit))


class TxReference:
    """What one Tx Address Cache must answer, in the cycles of its own."""

    def __init__(self, rows: int, ways: int):
        self.policy = AddressPolicy(rows, ways)
        self.to_sweep = rows
        # The lookup whose row has been read, and the one that is answered.
        self.coming: Answer | None = None
        self.waiting: Answer | None = None
        self.doomed: tuple[int, int] | None = None
        self.answers = {"hit": 0, "load": 0, "neither": 0}

    def cycle(self, inputs: dict, accepted: bool, taken: bool) -> None:
        """One cycle has passed with these inputs; the answer has been taken, a lookup been accepted."""
        empty = self.coming is None and self.waiting is None
        discards = self.doomed is not None and empty and not self.to_sweep
        forgets = inputs["clear"] or (
            inputs["invalidate"] and self.doomed is not None and not discards and not self.to_sweep
        )
        blind = bool(forgets or self.to_sweep)
        if taken:
            assert self.waiting is not None
            kind = "hit" if self.waiting.hit else "load" if self.waiting.load else "neither"
            self.answers[kind] += 1
            self.waiting = None
        if blind and self.coming is not None:
            self.coming = Answer()
        if self.waiting is None:
            self.waiting, self.coming = self.coming, None
        if accepted:
            assert self.coming is None and self.doomed is None
            self.coming = self.policy.look_up(inputs["row"], inputs["region"], inputs["candidate"] and not blind)
        if discards and self.doomed is not None:
            self.policy.invalidate(*self.doomed)
        if discards or self.to_sweep:
            self.doomed = None
        if inputs["invalidate"]:
            self.doomed = inputs["invalidate_row"], inputs["invalidate_way"]
        self.to_sweep = max(self.to_sweep - 1, 0)
        if forgets:
            self.policy.clear()
            self.to_sweep = self.policy.rows


async def drive_tx_cache(ctx, dut, turn, contexts: int, cycles: int, seed: int, regions: int) -> list[TxReference]:
    """Random lookups, stalls, invalidations and clears of ``contexts`` caches; every answer is compared."""
    rng = random.Random(seed)
    references = [TxReference(dut.rows, dut.ways) for _ in range(contexts)]
    pauses = [0] * contexts
    # Phases with one kind of trouble, with all, and with none.
    stall, blank, clear, invalidate = 0.0, 0.0, 0.0, 0.0
    for cycle in range(cycles):
        if cycle % 200 == 0:
            stall, blank = rng.choice(((0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3), (0.9, 0)))
            clear, invalidate = rng.choice(((0, 0), (0, 0.3), (0.02, 0), (0.01, 0.1)))
        context = ctx.get(turn) if contexts > 1 else 0
        reference = references[context]
        pauses[context] = max(pauses[context] - 1, 0)
        inputs = {
            "valid": rng.random() >= blank,
            "row": rng.randrange(dut.rows),
            "region": rng.randrange(regions),
            "candidate": rng.random() < 0.9,
            "clear": rng.random() < clear,
            "invalidate": not pauses[context] and rng.random() < invalidate,
            "invalidate_row": rng.randrange(dut.rows),
            "invalidate_way": rng.randrange(dut.ways),
        }
        if inputs["invalidate"]:
            pauses[context] = 3
        for name, signal in (
            *((name, getattr(dut.lookup.p, name)) for name in ("row", "region", "candidate")),
            *((name, getattr(dut, name)) for name in ("clear", "invalidate", "invalidate_row", "invalidate_way")),
            ("valid", dut.lookup.valid),
        ):
            ctx.set(signal, inputs[name])
        ctx.set(dut.answer.ready, rng.random() >= stall)
        assert ctx.get(dut.answer.valid) == (reference.waiting is not None)
        if reference.waiting is not None:
            answer = ctx.get(dut.answer.p)
            seen = Answer(bool(answer.hit), bool(answer.load), answer.way)
            assert seen == reference.waiting, f"cycle {cycle} of context {context}"
        assert not ctx.get(dut.error)
        accepted = ctx.get(dut.lookup.valid & dut.lookup.ready)
        reference.cycle(inputs, bool(accepted), bool(ctx.get(dut.answer.valid & dut.answer.ready)))
        await ctx.tick()
    return references


def random_request(rng: random.Random, regions, ids: int, odd: float = 0.3) -> UncompressedRequest:
    """A Request in one of ``regions`` with IDs below ``ids``; ``odd`` of them miss some condition of compression."""
    cmd = rng.choice((READ, WRITE, WRITE_FULL))
    blocks = rng.randrange(4)
    block = rng.randrange(1 << 12) << 2 | rng.randrange(4 - blocks)
    members = {
        "cmd": cmd,
        "attr": 0xFF if cmd == READ else 0,
        "len": blocks << 4 | 0xF,
        "meta_data": rng.randrange(4),
        "addr": rng.choice(regions) << 18 | block << 4,
        "num_beats": 0 if cmd == READ else blocks,
    }
    if rng.random() < odd:
        members.update(
            rng.choice(
                (
                    {"cmd": rng.choice((0x08, 0x0F, 0x2A, 0x2C, 0x30, 0x32, 0x3C))},
                    {"attr": rng.randrange(256)},
                    {"len": members["len"] ^ rng.randrange(1, 16)},
                    {"meta_data": rng.randrange(256)},
                    {"addr": members["addr"] | rng.randrange(64)},
                )
            )
        )
    return UncompressedRequest(
        **members,
        vchan=rng.randrange(4),
        asi=rng.randrange(4),
        tag=rng.randrange(1 << 11),
        pool=rng.randrange(2),
        src_acc_id=rng.randrange(ids),
        dst_acc_id=rng.randrange(ids),
    )


def job_of(request: UncompressedRequest) -> dict:
    """The data that a Request owes, as the transmitter's other blocks see it; distinct from those of others."""
    return {"half_flits": request.half_flits(), "num_beats": request.num_beats, "slot": request.addr >> 4 & 3}


def set_request(ctx, payload, request: UncompressedRequest, auth_tag: int = 0) -> None:
    """Offer ``request`` as ``REQUEST_FIELD_LAYOUT``."""
    ctx.set(payload.field, request.encode())
    ctx.set(payload.compressed, 0)
    ctx.set(payload.auth_tag, auth_tag)
    for name, value in job_of(request).items():
        ctx.set(getattr(payload.job, name), value)
