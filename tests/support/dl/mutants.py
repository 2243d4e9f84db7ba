"""Wrong versions of the replay RTL: what each one changes in the text of one module."""

from typing import NamedTuple

from support.dl.mutant_modules import MODULES

__all__ = ["MUTANTS", "Mutant"]


class Mutant(NamedTuple):
    """``old`` stands exactly once in module ``module``; ``new`` breaks requirement ``requirement``."""

    name: str
    requirement: str
    module: str
    old: str
    new: str


SEQUENCE, RECEIVE, SCHEDULER, BUFFER, TRANSMIT, PROGRESS = MODULES

MUTANTS = (
    # Sequence numbers
    Mutant(
        "511 is followed by 0", "DL-143", SEQUENCE, "Mux(seq == RESET_SEQ, 1, seq + 1)", "Mux(seq == 511, 0, seq + 1)"
    ),
    Mutant("distance modulo 512", "DL-143", SEQUENCE, "Mux(end < start, end + ~start, end - start)", "(end - start)"),
    Mutant(
        "Ack of the newest refused",
        "DL-150",
        SEQUENCE,
        "return Value.cast(distance) <= held",
        "return Value.cast(distance) < held",
    ),
    Mutant("Ack of any number allowed", "DL-150", SEQUENCE, "return Value.cast(distance) <= held", "return 0 <= held"),
    Mutant("request for an acked number heeded", "DL-149", SEQUENCE, "(distance != 0) & ", ""),
    Mutant(
        "request for a number not sent yet heeded",
        "DL-149",
        SEQUENCE,
        "(distance <= held)",
        "(distance <= held + 1)",
    ),
    Mutant("NOP flit reads as eight on", "DL-136", SEQUENCE, "(delta_lo == 0) & payload", "delta_lo == 0"),
    Mutant(
        "payload flit reads as one on",
        "DL-136",
        SEQUENCE,
        "Mux((delta_lo == 0) & payload, 8, delta_lo)",
        "Mux(payload, 1, delta_lo)",
    ),
    Mutant("reconstruction modulo 511", "DL-136", SEQUENCE, "(last + step)[", "(last + step + (last + step > 511))["),
    # Receiving
    Mutant("no ignore window", "DL-129", RECEIVE, "REPLAY_IGNORE_WINDOW = 12", "REPLAY_IGNORE_WINDOW = 0"),
    Mutant("ignore window of 8", "DL-148", RECEIVE, "REPLAY_IGNORE_WINDOW = 12", "REPLAY_IGNORE_WINDOW = 8"),
    Mutant(
        "bad flits leave the ignore window as it is",
        "DL-144",
        RECEIVE,
        "with m.If(self.ended):\n            m.d.sync += self.rx_replay_ignore_count",
        "with m.If(self.ended & self.good):\n            m.d.sync += self.rx_replay_ignore_count",
    ),
    Mutant("ambiguous after 8 bad flits", "DL-146", RECEIVE, "AMBIGUOUS_BAD_FLITS = 7", "AMBIGUOUS_BAD_FLITS = 8"),
    Mutant("ambiguous after 6 bad flits", "DL-146", RECEIVE, "AMBIGUOUS_BAD_FLITS = 7", "AMBIGUOUS_BAD_FLITS = 6"),
    Mutant(
        "Rx_bad_crc_count wraps",
        "DL-137",
        RECEIVE,
        "Mux(self.rx_bad_crc_count.all(), 7, self.rx_bad_crc_count + 1)",
        "self.rx_bad_crc_count + 1",
    ),
    Mutant(
        "Rx_unexpected_count wraps",
        "DL-137",
        RECEIVE,
        "Mux(self.rx_unexpected_count.all(), 0xFF, self.rx_unexpected_count + 1)",
        "self.rx_unexpected_count + 1",
    ),
    Mutant(
        "lost flits are not counted",
        "DL-146",
        RECEIVE,
        "self.ended & ~(self.good & weighed.known)",
        "self.ended & self.good & ~weighed.known",
    ),
    Mutant(
        "reserved op is an explicit flit",
        "DL-134",
        RECEIVE,
        "explicit.eq((op == FlitOp.ORIGINAL)",
        "explicit.eq(op[2] | (op == FlitOp.ORIGINAL)",
    ),
    Mutant(
        "ambiguity outlasts an accepted flit",
        "DL-153",
        RECEIVE,
        "                        self.rx_ambiguous.eq(0),\n",
        "",
    ),
    Mutant(
        "bad flits add up over good ones",
        "DL-153",
        RECEIVE,
        "                        self.rx_bad_crc_count.eq(0),\n",
        "",
    ),
    Mutant(
        "bad flits do not count towards the limit",
        "DL-146",
        RECEIVE,
        "with m.If(self.rx_replay):",
        "with m.If(0):",
    ),
    Mutant(
        "limit one late",
        "DL-155",
        RECEIVE,
        "unexpected_count >= self.rx_replay_limit",
        "unexpected_count > self.rx_replay_limit",
    ),
    Mutant(
        "the limit never strikes",
        "DL-155",
        RECEIVE,
        "with m.If(unexpected_count >= self.rx_replay_limit)",
        "with m.If(unexpected_count >= 256)",
    ),
    Mutant(
        "count goes on after the limit",
        "DL-155",
        RECEIVE,
        "[self.rx_unexpected_count.eq(0), self.rx_bad_crc_count.eq(0)]",
        "self.rx_bad_crc_count.eq(0)",
    ),
    Mutant(
        "payload flit expected with the last number",
        "DL-153",
        RECEIVE,
        "Mux(payload, next_seq(self.rx_last_seq_calc), self.rx_last_seq_calc)",
        "self.rx_last_seq_calc",
    ),
    Mutant(
        "NOP flit always in order",
        "DL-153",
        RECEIVE,
        "expected.eq(rx_seq_calc ==",
        "expected.eq(~payload | rx_seq_calc ==",
    ),
    Mutant(
        "command flits accepted while a replay is waited for",
        "DL-152",
        RECEIVE,
        "explicit | ~(self.rx_ambiguous | self.rx_replay)",
        "explicit | ~self.rx_ambiguous",
    ),
    Mutant(
        "command flits accepted while ambiguous",
        "DL-152",
        RECEIVE,
        "explicit | ~(self.rx_ambiguous | self.rx_replay)",
        "explicit | ~self.rx_replay",
    ),
    Mutant(
        "every explicit flit out of order asks again",
        "DL-154",
        RECEIVE,
        "with m.Elif(~self.rx_replay):",
        "with m.Else():",
    ),
    Mutant(
        "gap is not remembered",
        "DL-154",
        RECEIVE,
        "[self.rx_replay.eq(1), self.rx_unexpected_count.eq(0)]",
        "self.rx_unexpected_count.eq(0)",
    ),
    Mutant(
        "number 0 is not dropped", "DL-147", RECEIVE, "(explicit | command) & ~read.number_zero", "(explicit | command)"
    ),
    Mutant("Ack out of range frees", "DL-150", RECEIVE, "self.acked.eq(ack & ack_legal & ", "self.acked.eq(ack & "),
    Mutant(
        "Replay Request frees",
        "DL-127",
        RECEIVE,
        "with m.If(self.acked):",
        "with m.If(self.acked | self.replay_accepted):",
    ),
    Mutant(
        "Replay Request is an Ack",
        "DL-125",
        RECEIVE,
        "usable & weighed.ack",
        "usable & (weighed.ack | weighed.request)",
    ),
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
        "with m.If((now.jumping | now.tx_replay) & ~held):",
        "with m.If(0):",
    ),
    Mutant(
        "overtaken replay skips a flit",
        "DL-160",
        BUFFER,
        "then.jump_seq.eq(next_seq(self.rx_last_ack))",
        "then.jump_seq.eq(next_seq(next_seq(self.rx_last_ack)))",
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
        "                then.jump_seq.eq(self.replay_from),\n",
        "                then.jump_seq.eq(self.replay_from),\n                cancelled.eq(1),\n",
    ),
    Mutant(
        "overtaken replay stops until its flit is found",
        "DL-183",
        BUFFER,
        "with m.If(count == 0):",
        "m.d.comb += cancelled.eq(1)\n            with m.If(count == 0):",
    ),
    Mutant(
        "replay ends one flit early",
        "DL-126",
        BUFFER,
        "with m.If(now.replay_seq == last.tx_last_seq):",
        "with m.If(next_seq(now.replay_seq) == last.tx_last_seq):",
    ),
    Mutant(
        "flit stored meanwhile is not replayed",
        "DL-126",
        BUFFER,
        "(goes_on | (self.store & now.awaits))",
        "goes_on",
    ),
    Mutant(
        "replay starts one flit late",
        "DL-126",
        BUFFER,
        "then.jump_seq.eq(self.replay_from)",
        "then.jump_seq.eq(next_seq(self.replay_from))",
    ),
    Mutant(
        "wrong place in the ring",
        "DL-119",
        BUFFER,
        "seq_distance(now.jump_seq, last.tx_last_seq) + 1)",
        "seq_distance(now.jump_seq, last.tx_last_seq))",
    ),
    Mutant(
        "flits overlap",
        "DL-119",
        BUFFER,
        "following.following_row.eq(last.following_row + self._beats)",
        "following.following_row.eq(last.following_row + self._beats - 1)",
    ),
    Mutant(
        "ring one place short",
        "DL-119",
        BUFFER,
        "with m.If(last.tail == self.depth - 1):",
        "with m.If(last.tail == self.depth - 2):",
    ),
    Mutant(
        "beats in one place",
        "DL-119",
        BUFFER,
        "last.tail_row + self.write_beat",
        "last.tail_row",
    ),
    # Slots
    Mutant("full buffer takes one more", "DL-157", BUFFER, "self.held < self.depth,", "self.held < self.depth + 1,"),
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
        "buffer.ended & verdict.is_data & ~spoilt",
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
        "(self.waiting & ~waited) | self.acked",
        "self.waiting & ~waited",
    ),
    Mutant(
        "timer is not loaded when TxReplay fills",
        "DL-165",
        PROGRESS,
        "(self.waiting & ~waited) | self.acked",
        "self.acked",
    ),
    Mutant(
        "timer runs while nothing waits", "DL-165", PROGRESS, "counting.eq(self.waiting & waited & ", "counting.eq("
    ),
    Mutant(
        "time-out never comes", "DL-165", PROGRESS, "self.time_out.eq(self.tx_ack_counter == 1)", "self.time_out.eq(0)"
    ),
)
