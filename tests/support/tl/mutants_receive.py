"""Wrong versions of the receiver."""

from support.tl.mutant import Mutant

__all__ = ["RECEIVE_MUTANTS"]

RX_CACHE = "ualink.tl.cache.rx_address_cache"
REBUILD = "ualink.tl.receive.request_reconstruction"
RECEIVE = "ualink.tl.receive.sequence"
CATCH = "ualink.tl.receive.catch_buffer"
UNHURRIED_CATCH = "ualink.tl.receive.unhurried_catch"
ASSEMBLER = "ualink.tl.receive.data_assembler"
BUFFER = "ualink.tl.credit.data_buffer"
UNLOAD = "ualink.tl.receive.request_unload"
READ_UNLOAD = "ualink.tl.receive.read_response_unload"
RESPONSES = "ualink.tl.receive.response_reconstruction"

RECEIVE_MUTANTS = (
    # Rx Address Cache
    Mutant(
        "array before the Address CAM",
        "TL-143",
        RX_CACHE,
        "with m.If(self.last_valid & (self.last_row == self.row)",
        "with m.If(0 & (self.last_row == self.row)",
        "cache/test_rx_address_cache.py::test_every_use_sees_the_last_load",
    ),
    Mutant(
        "Address CAM of the wrong way",
        "TL-120",
        RX_CACHE,
        " & (self.last_way == self.way)",
        "",
        "cache/test_rx_address_cache.py::test_every_use_sees_the_last_load",
    ),
    Mutant(
        "old entries after a restart",
        "TL-221",
        RX_CACHE,
        "write.data.eq(0), write.en.eq(-1)]",
        "write.data.eq(0), write.en.eq(0)]",
        "cache/test_rx_address_cache.py::test_nothing_is_known_after_the_sweep",
    ),
    Mutant(
        "rows of the other end",
        "TL-118",
        REBUILD,
        "at_this_end(config, is_switch, source, destination)",
        "at_this_end(config, is_switch, destination, source)",
        "receive/test_request_reconstruction.py::test_random_fields",
    ),
    Mutant(
        "rebuilt length one short",
        "TL-186",
        REBUILD,
        "beat.len.eq(Cat(Const(0xF, 4), short.len))",
        "beat.len.eq(Cat(Const(0xE, 4), short.len))",
        "receive/test_request_reconstruction.py::test_random_fields",
    ),
    # Receiving
    Mutant(
        "half-flits of the next field first",
        "TL-038",
        RECEIVE,
        "mask[n] & ~mask[:n].any()",
        "mask[n] & ~mask[n + 1 :].any()",
        "receive/test_grids.py",
    ),
    Mutant(
        "MANDATORY NOP unchecked",
        "TL-220",
        RECEIVE,
        "& ~self.message[1] & ~self.upper_is_zero",
        "& ~self.message[1] & 0",
        "receive/test_errors.py",
    ),
    Mutant(
        "poison in the place of byte enables",
        "TL-063",
        RECEIVE,
        "~control_slot & ~self.lower.byte_enables",
        "~control_slot",
        "receive/test_errors.py",
    ),
    Mutant(
        "catch buffer turned round",
        "TL-141",
        CATCH,
        "sum(valid[:n], start=0)",
        "sum(valid[len(valid) - n :], start=0)",
        "receive/test_catch_buffer.py::test_fields_leave_in_order_and_the_limit_is_exact",
    ),
    Mutant(
        "row as it was before it was written",
        "TL-133",
        UNHURRIED_CATCH,
        "transparent_for=storage.write_ports",
        "transparent_for=()",
        "receive/test_catch_buffer.py::test_lines_give_the_same_in_the_same_cycles",
    ),
    Mutant(
        "halves exchanged",
        "TL-027",
        ASSEMBLER,
        "(slot.half == half)",
        "(slot.half != half)",
        "receive/test_grids.py",
    ),
    Mutant(
        "poison of the lower half only",
        "TL-085",
        BUFFER,
        "halves[0].poison | halves[1].poison",
        "halves[0].poison & halves[1].poison",
        "receive/test_top.py::test_one_poisoned_half_poisons_the_beat",
    ),
    Mutant(
        "data before they have come",
        "TL-104",
        UNLOAD,
        "begins | (more > 0)",
        "begins | 1",
        "receive/test_top.py",
    ),
    Mutant(
        "gap in a burst",
        "TL-210",
        UNLOAD,
        "goes_on | (start & ~data_sent)",
        "(goes_on & self.rx_orig_data.ready & ~index[1]) | (start & ~data_sent)",
        "receive/test_top.py",
    ),
    Mutant(
        "half of a transfer lost with the link",
        "RAS-053",
        UNLOAD,
        "(begun | self.running) & may_go",
        "self.running & may_go",
        "session/test_drop_layer.py",
    ),
    Mutant(
        "rest of a transfer lost with its queue",
        "RAS-053",
        UNLOAD,
        "with m.Elif(start & (req_moves | data_moves)):",
        "with m.Elif(Const(0)):",
        "session/test_drop_layer.py",
    ),
    Mutant(
        "data of the Request before count for the next",
        "TL-104",
        UNLOAD,
        "others.eq(more > 1)",
        "others.eq(more > 0)",
        "receive/test_top.py",
    ),
    Mutant(
        "byte enables of the block's first quarter",
        "TL-036",
        UNLOAD,
        "first_slot + beat_index",
        "beat_index",
        "receive/test_top.py",
    ),
    Mutant(
        "command credit not returned",
        "TL-163",
        UNLOAD,
        "self.release_req_cmd.valid.eq(leaves & self.running)",
        "self.release_req_cmd.valid.eq(started & self.running)",
        "receive/test_top.py",
    ),
    Mutant(
        "last beat marked late",
        "TL-210",
        READ_UNLOAD,
        " last.eq(final)]",
        " last.eq(index == 3)]",
        "receive/test_top.py",
    ),
    Mutant(
        "loads lost with the link",
        "TL-225",
        "ualink.tl.receive.top",
        "part.load.eq(accepted)",
        "part.load.eq(accepted & session.classifying)",
        "cache/test_rx_stays.py::test_every_load_that_came_before_a_link_down_counts",
    ),
    Mutant(
        "catch buffer emptied with the link",
        "TL-225",
        "ualink.tl.receive.requests",
        "stop = self.halted | (",
        "stop = self.flush | self.halted | (",
        "cache/test_rx_stays.py::test_every_load_that_came_before_a_link_down_counts",
    ),
    Mutant(
        "loads behind an error",
        "TL-225",
        "ualink.tl.receive.requests",
        "ResetInserter(stop)",
        "ResetInserter(0)",
        "cache/test_rx_stays.py::test_a_load_behind_an_error_does_not_count",
    ),
    Mutant(
        "crossing 256 bytes uncounted",
        "TL-226",
        "ualink.tl.receive.top",
        "Mux(legal, classified.crossing, 0)",
        "0",
        "test_encryption.py::test_crossing_256_bytes_is_counted_and_delivered",
    ),
    # Its stages
    Mutant(
        "flits behind an error heard",
        "TL-088",
        "ualink.tl.receive.top",
        "heard.eq(waiting & ~self.error_valid)",
        "heard.eq(waiting)",
        "receive/test_stages.py::test_nothing_behind_an_error_is_heard",
    ),
    Mutant(
        "credits of the session before",
        "TL-221",
        "ualink.tl.receive.top",
        "legal & session.classifying, session",
        "legal, session",
        "receive/test_stages.py::test_credits_and_messages_of_a_flit_count_for_its_session_only",
    ),
    Mutant(
        "a hole in the flush",
        "TL-221",
        "ualink.tl.session.receive_session",
        "self.classifying & self.checking & ~self.discard",
        "self.classifying & ~self.discard",
        "receive/test_stages.py::test_the_link_goes_down_and_up_with_a_flit_in_every_stage",
    ),
    Mutant(
        "a dropped beat not told of",
        "RAS-053",
        "ualink.tl.layer",
        "status.dropping.eq(session.dropping)",
        "status.dropping.eq(drop_mode.dropping)",
        "session/test_drop_layer.py::test_a_beat_taken_while_dropping_is_not_told_arrives",
    ),
    Mutant(
        "offset of a single beat lost",
        "TL-193",
        RESPONSES,
        "[read.offset.eq(single.offset), read.last.eq(single.last)]",
        "read.last.eq(single.last)",
        "receive/test_top.py",
    ),
)
