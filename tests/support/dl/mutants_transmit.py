"""Wrong versions of the transmitter of the replay."""

from support.dl.mutant import Mutant
from support.dl.mutant_modules import MODULES

__all__ = ["TRANSMIT_MUTANTS"]

_, _, SCHEDULER, BUFFER, TRANSMIT, PROGRESS = MODULES

TRANSMIT_MUTANTS = (
    # Headers
    Mutant(
        "first replayed flit is not explicit",
        "DL-140",
        SCHEDULER,
        "self.first_of_replay | (explicit_count == 0)",
        "explicit_count == 0",
    ),
    Mutant(
        "explicit flits in replays only",
        "DL-141",
        SCHEDULER,
        "self.first_of_replay | (explicit_count == 0)",
        "self.first_of_replay",
    ),
    Mutant(
        "explicit every 6 flits",
        "DL-141",
        SCHEDULER,
        "self.tx_explicit_count.eq(self._cadence)",
        "self.tx_explicit_count.eq(self._cadence - 1)",
    ),
    Mutant(
        "replayed explicit flit marked original",
        "DL-161",
        SCHEDULER,
        "Mux(self.replay, FlitOp.REPLAY, FlitOp.ORIGINAL)",
        "FlitOp.ORIGINAL",
    ),
    Mutant(
        "each copy names another number",
        "DL-162",
        SCHEDULER,
        "self.tx_replay_req_count == REPLAY_REQUEST_COPIES,",
        "self.tx_replay_req_count != 0,",
    ),
    Mutant(
        "request for the last accepted number",
        "DL-162",
        SCHEDULER,
        "next_seq(self.rx_last_seq_calc),\n",
        "self.rx_last_seq_calc,\n",
    ),
    Mutant("two copies", "DL-128", SCHEDULER, "REPLAY_REQUEST_COPIES = 3", "REPLAY_REQUEST_COPIES = 2"),
    Mutant(
        "copies in one group",
        "DL-163",
        SCHEDULER,
        "new_group.eq(slots_since_request >= self.codeword_group)",
        "new_group.eq(1)",
    ),
    Mutant(
        "copies one slot late",
        "DL-130",
        SCHEDULER,
        "new_group.eq(slots_since_request >= ",
        "new_group.eq(slots_since_request > ",
    ),
    Mutant(
        "Ack runs ahead",
        "DL-164",
        SCHEDULER,
        "self.ack_req_seq.eq(self.rx_last_seq_calc)]",
        "self.ack_req_seq.eq(next_seq(self.rx_last_seq_calc))]",
    ),
    # TxReplay
    Mutant(
        "overtaken replay goes on as it was",
        "DL-160",
        BUFFER,
        "overtaken.eq(Mux(now.jumping, misses, now.tx_replay & ~now.held))",
        "overtaken.eq(0)",
    ),
    Mutant(
        "overtaken replay skips a flit",
        "DL-160",
        BUFFER,
        "self.replay_from, next_seq(rx_last_ack))",
        "self.replay_from, next_seq(next_seq(rx_last_ack)))",
    ),
    Mutant(
        "replay without a first flit",
        "DL-140",
        BUFFER,
        "m.d.comb += then.tx_first_replay.eq(1)",
        "m.d.comb += then.tx_first_replay.eq(0)",
    ),
    Mutant(
        "further request stops the replay until its flit is found",
        "DL-183",
        BUFFER,
        "                then.asked.eq(1),\n",
        "                then.asked.eq(1),\n                cancelled.eq(1),\n",
    ),
    Mutant(
        "overtaken replay stops until its flit is found",
        "DL-183",
        BUFFER,
        "m.d.comb += [then.jumping.eq(1), then.located.eq(0)]",
        "m.d.comb += [then.jumping.eq(1), then.located.eq(0), cancelled.eq(1)]",
    ),
    Mutant(
        "replay ends one flit early",
        "DL-126",
        BUFFER,
        "with m.If(replay_seq == last.tx_last_seq):",
        "with m.If(next_seq(replay_seq) == last.tx_last_seq):",
    ),
    Mutant(
        "flit stored meanwhile is not replayed",
        "DL-126",
        BUFFER,
        "(goes_on & ~cancelled) | (self.store & now.awaits)",
        "goes_on & ~cancelled",
    ),
    Mutant(
        "replay starts one flit late",
        "DL-126",
        BUFFER,
        "Mux(self.replay, self.replay_from, ",
        "Mux(self.replay, next_seq(self.replay_from), ",
    ),
    Mutant(
        "wrong place in the ring",
        "DL-119",
        BUFFER,
        "then.place.eq(Mux(place[-1], place_around, place))",
        "then.place.eq(place)",
    ),
    Mutant(
        "flits overlap",
        "DL-119",
        BUFFER,
        "last.following_row + self._beats)",
        "last.following_row + self._beats - 1)",
    ),
    Mutant(
        "ring one place short",
        "DL-119",
        BUFFER,
        "following.tail_is_last.eq(last.tail == self._counting(-2))",
        "following.tail_is_last.eq(last.tail == self._counting(-3))",
    ),
    Mutant(
        "beats in one place",
        "DL-119",
        BUFFER,
        "Mux(in_first_rows, last.tail_row + 2, writing.q.row + 1)",
        "Mux(in_first_rows, last.tail_row, writing.q.row)",
    ),
    # Slots
    Mutant(
        "full buffer takes one more",
        "DL-157",
        BUFFER,
        "self.held < self._counting(0),",
        "self.held < self._counting(1),",
    ),
    Mutant(
        "new flits between replayed ones",
        "DL-157",
        TRANSMIT,
        "& buffer.tx_replay)",
        "& buffer.tx_replay & ~from_buffer)",
    ),
    Mutant(
        "NOP flit takes a number",
        "DL-143",
        TRANSMIT,
        "ended & verdict.fresh & verdict.payload",
        "ended & verdict.fresh",
    ),
    Mutant(
        "spoilt flit is kept",
        "DL-182",
        TRANSMIT,
        "buffer.ended & verdict.is_data & ~wrong",
        "buffer.ended & verdict.is_data",
    ),
    Mutant(
        "CRC of a spoilt flit is right",
        "DL-182",
        TRANSMIT,
        "(spoilt ^ verdict.struck)",
        "verdict.struck",
    ),
    Mutant(
        "NOP flit carries the coming number",
        "DL-143",
        TRANSMIT,
        "seq.eq(Mux(payload, payload_seq, self.buffer.tx_last_seq))",
        "seq.eq(payload_seq)",
    ),
    Mutant(
        "replayed flit carries the newest number",
        "DL-119",
        TRANSMIT,
        "Mux(from_buffer, now.replayed_seq, next_seq(buffer.tx_last_seq))",
        "next_seq(buffer.tx_last_seq)",
    ),
    # Forward progress
    Mutant(
        "Acks do not rearm the timer",
        "DL-165",
        PROGRESS,
        "(self.waiting & ~waited) | acked",
        "self.waiting & ~waited",
    ),
    Mutant(
        "timer is not loaded when TxReplay fills",
        "DL-165",
        PROGRESS,
        "(self.waiting & ~waited) | acked",
        "acked",
    ),
    Mutant(
        "timer runs while nothing waits", "DL-165", PROGRESS, "counting.eq(self.waiting & waited & ", "counting.eq("
    ),
    Mutant(
        "time-out never comes", "DL-165", PROGRESS, "self.expires.eq(counting & one & ~acked)", "self.expires.eq(0)"
    ),
)
