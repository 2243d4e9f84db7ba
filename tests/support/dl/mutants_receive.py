"""Wrong versions of sequence numbers and receiver of the replay."""

from support.dl.mutant import Mutant
from support.dl.mutant_modules import MODULES

__all__ = ["RECEIVE_MUTANTS"]

SEQUENCE, RECEIVE, *_ = MODULES

RECEIVE_MUTANTS = (
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
        "too_many.eq(unexpected_count >= self.rx_replay_limit)",
        "too_many.eq(unexpected_count >= 256)",
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
)
