"""The egress of a response plane: of a transfer that was found wrong nothing leaves, whoever is ready."""

import random

import pytest

from support.switch.bench import coded, pack, random_response, run, unpack
from ualink.switch.response_egress import ResponseEgress


class Reader:
    """A matcher and buffers: a transfer that is granted while there is room comes three cycles later, beat after beat.

    About every third one is found wrong in the cycle after its first beat has come; ``bad`` has their indices. With
    ``later`` it is found so after one of its other beats, if it has any; ``bad`` has the index of this beat by theirs.
    """

    def __init__(self, dut, channel, seed, *, count=150, later=False):
        self.dut, rng = dut, random.Random(f"reader {channel} {seed}")
        most = 4 if channel == "rd_rsp" else 1
        self.items = [
            [coded(channel, pack(channel, beat)) for beat in random_response(rng, channel, n, 0, rng.randint(1, most))]
            for n in range(count)
        ]
        self.bad = {n: 0 for n in range(count) if rng.randrange(3) == 0}
        if later:
            self.bad = {n: rng.randrange(1, len(self.items[n])) for n in self.bad if len(self.items[n]) > 1}

    async def process(self, ctx):
        arrival, waiting = self.dut.arrival, list(enumerate(self.items))
        coming: dict[int, tuple[int, bool]] = {}
        found, cycle, free = set(), 0, 0
        while True:
            if waiting and ctx.get(arrival.room) and free <= cycle:
                n, beats = waiting.pop(0)
                coming |= {cycle + 3 + k: (beat, k == 0) for k, beat in enumerate(beats)}
                found |= {cycle + 4 + self.bad[n]} if n in self.bad else set()
                free = cycle + len(beats)
            beat, first = coming.pop(cycle, (None, False))
            ctx.set(arrival.come, beat is not None)
            ctx.set(arrival.beat.as_value(), beat or 0)
            ctx.set(arrival.first, first)
            ctx.set(arrival.wrong, cycle in found)
            await ctx.tick()
            cycle += 1


@pytest.mark.req("RAS-009", "SW-043")
@pytest.mark.parametrize("channel", ["rd_rsp", "wr_rsp"])
@pytest.mark.parametrize("rate", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("asks", [False, True])
def test_a_wrong_transfer_is_dropped_whoever_is_ready(channel, rate, asks):
    """Beats taken at will, with ``asks`` only when one is on offer: those of the others leave, in order, and each wrong
    transfer is told once."""
    dut, rng = ResponseEgress(channel), random.Random(f"{channel} {rate} {asks}")
    reader, taken, told = Reader(dut, channel, rate), [], 0

    async def scenario(ctx):
        nonlocal told
        for _ in range(6000):
            ready = rng.random() < rate and (not asks or ctx.get(dut.rsp.valid))
            ctx.set(dut.rsp.ready, ready)
            sampled = dut.rsp.valid, dut.rsp.payload.as_value(), dut.upset.control
            _, _, offered, beat, upset = await ctx.tick().sample(*sampled)
            told += upset
            if ready and offered:
                taken.append(beat)

    run(dut, scenario, background=[reader.process])
    assert taken == [beat for n, beats in enumerate(reader.items) if n not in reader.bad for beat in beats]
    assert told == len(reader.bad) > 30


OF_TRANSFER = ("src_phys_acc_id", "dst_phys_acc_id", "tag", "num_beats", "status", "vc")


@pytest.mark.req("RAS-039")
def test_a_wrong_beat_behind_the_first_goes_poisoned_with_what_is_known_of_it():
    """It and those behind it continue the transfer, whatever stands in them, with a code that belongs to what is sent;
    of the others nothing changes, and each is a Switch Core Control Error."""
    dut, rng = ResponseEgress("rd_rsp"), random.Random(1)
    reader, taken, told = Reader(dut, "rd_rsp", "later", later=True), [], 0

    async def scenario(ctx):
        nonlocal told
        sampled = dut.rsp.valid, dut.rsp.payload.as_value(), dut.upset.control
        for _ in range(3000):
            ready = rng.random() < 0.7
            ctx.set(dut.rsp.ready, ready)
            _, _, offered, beat, upset = await ctx.tick().sample(*sampled)
            told += upset
            if ready and offered:
                taken.append(beat)

    run(dut, scenario, background=[reader.process])
    sent = [(n, k, beats) for n, beats in enumerate(reader.items) for k in range(len(beats))]
    assert len(taken) == len(sent)
    assert told == len(reader.bad) > 20
    for (n, k, beats), beat in zip(sent, taken):
        if k != reader.bad.get(n, -1):
            assert beat == beats[k]
            continue
        first, before, fields = (unpack("rd_rsp", word) for word in (beats[0], beats[k - 1], beat))
        assert {name: fields[name] for name in OF_TRANSFER} == {name: first[name] for name in OF_TRANSFER}
        assert (fields["data_error"], fields["last"]) == (1, k == first["num_beats"])
        assert fields["offset"] == (before["offset"] + 1) % 4
        assert fields["auth_tag"] == unpack("rd_rsp", beats[k])["auth_tag"]
        assert beat == coded("rd_rsp", pack("rd_rsp", fields))
