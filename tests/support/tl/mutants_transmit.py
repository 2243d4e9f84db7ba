"""Wrong versions of the transmitter."""

from support.tl.mutant import Mutant

__all__ = ["TRANSMIT_MUTANTS"]

SHARE = "ualink.tl.pack.share"
PLACEMENT = "ualink.tl.pack.placement"
PACKER = "ualink.tl.pack.packer"
COMPRESSION = "ualink.tl.transmit.request_compression"
TX_CACHE = "ualink.tl.cache.tx_address_cache"
CREDITS = "ualink.tl.credit.credits"
RELEASE = "ualink.tl.credit.release"
CHECK = "ualink.tl.credit.check"
LIMIT = "ualink.tl.credit.rate_limit"
SLOTS = "ualink.tl.pack.half_flit_slots"
SEQUENCE = "ualink.tl.pack.half_flit_sequence"
GEARBOX = "ualink.tl.pack.data_gearbox"
INTAKE = "ualink.tl.transmit.request_intake"
ANSWERS = "ualink.tl.transmit.response_intake"

TRANSMIT_MUTANTS = (
    # Packing
    Mutant(
        "a fifth tagged field",
        "TL-052",
        SHARE,
        "tagged.replicate(4))),",
        "0)),",
        "pack/test_packer.py::test_random_half_flits",
    ),
    Mutant(
        "tagged fields in a swap slot",
        "TL-050",
        SHARE,
        "self.message | self.swap & self.authentication",
        "self.message",
        "pack/test_packer_limits.py::test_fields_with_tags_wait_for_the_slot_after_a_swap",
    ),
    Mutant(
        "two where one is the limit",
        "TL-200",
        SHARE,
        "Cat((n == 0) | above(limit, n) for",
        "Cat((n <= 1) | above(limit, n) for",
        "pack/test_packer_limits.py::test_backoff_mode_limits_its_kind",
    ),
    Mutant(
        "source rate limit ignored", "TL-131", SHARE, "& above(allowance, n) for", "for", "pack/test_packer_limits.py"
    ),
    Mutant(
        "Flow Control waits for the Responses' turn",
        "TL-215",
        SHARE,
        "self.fc_due.eq(passed_over == FC_PATIENCE)",
        "self.fc_due.eq(0)",
        "pack/test_packer_proof.py::test_nothing_that_waits_is_passed_over_twice",
    ),
    Mutant(
        "Request in the wrong pair",
        "TL-009",
        PLACEMENT,
        "low[1][0] = two & short[0] & ~short[1]",
        "low[2][0] = two & short[0] & ~short[1]",
        "pack/test_packer_grids.py::test_half_flits_of_the_standard",
    ),
    Mutant(
        "tags in the order of kinds",
        "TL-053",
        PLACEMENT,
        "if base).any())",
        "if not base).any())",
        "pack/test_packer.py::test_random_half_flits",
    ),
    Mutant(
        "limit of Flow Control ignored",
        "TL-204",
        PACKER,
        "~self.complete & ((n == 0) | above(self.limits.flow_control, n))",
        "~self.complete",
        "pack/test_packer_limits.py::test_backoff_mode_limits_flow_control",
    ),
    # Compression, condition by condition (UALink_200 §5.9.3)
    Mutant(
        "Atomics compressed",
        "TL-187",
        COMPRESSION,
        "(field.cmd == ReqCmd.WRITE_FULL.value)",
        "(field.cmd == ReqCmd.WRITE_FULL.value) | (field.cmd == ReqCmd.ATOMIC_NR.value)",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "masked Reads compressed",
        "TL-188",
        COMPRESSION,
        "field.attr == 0xFF, ",
        "field.attr[1:] == 0x7F, ",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "Writes with attributes compressed",
        "TL-188",
        COMPRESSION,
        "& (field.attr == 0x00)",
        "& (field.attr[:7] == 0x00)",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "odd lengths compressed",
        "TL-189",
        COMPRESSION,
        "field.len[:4].all()",
        "field.len[1:4].all()",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "unaligned addresses compressed",
        "TL-190",
        COMPRESSION,
        "~field.addr[:4].any()",
        "~field.addr[1:4].any()",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "transfers across blocks compressed",
        "TL-190",
        COMPRESSION,
        "& (field.addr[4:6] + blocks <= 3)",
        "",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "META_DATA of three bits compressed",
        "TL-191",
        COMPRESSION,
        "META_DATA_MUST_BE_ZERO = 0xFC",
        "META_DATA_MUST_BE_ZERO = 0xF8",
        "transmit/test_request_compression.py::test_each_condition_alone_keeps_the_long_form",
    ),
    Mutant(
        "part of the region compared",
        "TL-184",
        TX_CACHE,
        "(found[way].region == self.asked.region)",
        "(found[way].region[:36] == self.asked.region[:36])",
        "cache/test_tx_address_cache.py::test_every_bit_of_the_region_counts",
    ),
    # Address Caches
    Mutant(
        "lookup misses the load before it",
        "TL-124",
        TX_CACHE,
        "Mux(forwarded[way], aside[way], read.data[way])",
        "read.data[way]",
        "cache/test_tx_address_cache.py::test_a_load_is_seen_by_the_very_next_lookup",
    ),
    Mutant(
        "lookup sees a load of another row",
        "TL-124",
        TX_CACHE,
        "Mux(asked.row == self.lookup.p.row, written, 0)",
        "written",
        "cache/test_tx_address_cache.py::test_every_answer_is_that_of_the_policy",
    ),
    Mutant(
        "sweep leaves the last row",
        "TL-221",
        TX_CACHE,
        "sweeping.eq(sweep_row != self.rows - 1)",
        "sweeping.eq(sweep_row != self.rows - 2)",
        "cache/test_tx_address_cache.py::test_nothing_is_known_before_all_rows_are_swept",
    ),
    Mutant(
        "invalidation lost",
        "TL-095",
        TX_CACHE,
        "with m.If(discard | sweeping):",
        "with m.If(doomed):",
        "cache/test_tx_address_cache.py::test_invalidations_are_never_lost",
    ),
    # Credits
    Mutant(
        "one data credit for a burst",
        "TL-218",
        CREDITS,
        "amount = claim.beats if is_data else 1",
        "amount = claim.beats.any() if is_data else 1",
        "credit/test_credits.py::test_random_claims_and_returns",
    ),
    Mutant(
        "VC credit of another VC",
        "TL-150",
        CREDITS,
        "cmd.vc[claim.vc][0]",
        "cmd.vc[0][0]",
        "credit/test_credits.py::test_random_claims_and_returns",
    ),
    Mutant(
        "granted before the partner's release",
        "TL-161",
        CREDITS,
        "self.enable & init_done & (pool_ok | vc_ok)",
        "self.enable & (pool_ok | vc_ok)",
        "credit/test_credits.py::test_nothing_is_granted_before_both_releases",
    ),
    Mutant(
        "too many credits unnoticed",
        "TL-219",
        CREDITS,
        "(Cat(count, over) > Cat(total, total_over)) | ",
        "",
        "credit/test_credits.py::test_a_credit_too_many_is_a_protocol_error",
    ),
    Mutant(
        "credits go back to the Pool",
        "TL-163",
        RELEASE,
        "field[credit_class].is_vc.eq(b > 0)",
        "field[credit_class].is_vc.eq(0)",
        "credit/test_release.py::test_returns_go_to_their_buckets",
    ),
    Mutant(
        "credits freed meanwhile are lost",
        "TL-163",
        RELEASE,
        "pending[i] + freed - Mux(taken, amounts[i], 0)",
        "Mux(taken, pending[i] - amounts[i], pending[i] + freed)",
        "credit/test_release.py::test_returns_go_to_their_buckets",
    ),
    Mutant(
        "release said to be complete at once",
        "TL-157",
        RELEASE,
        "self.enable & ~self.init_sent & ~waiting",
        "self.enable & ~self.init_sent",
        "credit/test_release.py::test_initial_release",
    ),
    Mutant(
        "overdrawn by one unnoticed",
        "TL-218",
        CHECK,
        "(self.spent.count > Mux(",
        "(self.spent.count > 1 + Mux(",
        "credit/test_check.py",
    ),
    Mutant(
        "last of two fields stranded",
        "TL-224",
        "ualink.tl.credit.rate_limit",
        "(allowed != self.limit) | (self.issued != 0)",
        "(allowed != self.limit)",
        "test_literal_partner.py",
    ),
    Mutant(
        "nothing pushes Responses on",
        "TL-224",
        "ualink.tl.transmit.top",
        "request_limit.outstanding | response_limit.outstanding",
        "request_limit.outstanding",
        "test_literal_partner.py",
    ),
    Mutant(
        "Responses without their source",
        "TL-181",
        "ualink.tl.transmit.top",
        " & ~self.control.encryption",
        "",
        "test_encryption.py::test_src_phys_acc_id_arrives",
    ),
    Mutant(
        "Writes of a beat more compressed",
        "TL-190",
        "ualink.tl.transmit.request_compression",
        "(field.num_beats == Mux(is_read, 0, blocks))",
        "1",
        "test_encryption.py::test_a_write_whose_ciphertext_is_aligned_by_chance_is_not_compressed",
    ),
    Mutant(
        "allowance does not recover",
        "TL-137",
        LIMIT,
        "left + 1",
        "left",
        "credit/test_rate_limit.py::test_sequences_of_the_standard",
    ),
    Mutant(
        "allowance one above the limit",
        "TL-131",
        LIMIT,
        "Mux(left >= self.limit, self.limit, left + 1)",
        "Mux(left >= self.limit, self.limit, left + 2)",
        "credit/test_rate_limit.py::test_sequences_of_the_standard",
    ),
    # Sequence of half-flits
    Mutant(
        "no swap",
        "TL-042",
        SLOTS,
        "after.eq(held)]",
        "after.eq(held + 1)]",
        "pack/test_half_flit_sequence.py::test_random_offers_and_stalls",
    ),
    Mutant(
        "data beside the tags",
        "TL-048",
        SLOTS,
        "skips.eq((self.half_flits == 0) | tagged)",
        "skips.eq(self.half_flits == 0)",
        "pack/test_half_flit_sequence.py::test_grid_of_the_standard",
    ),
    Mutant(
        "upper half-flit twice",
        "TL-040",
        SEQUENCE,
        "Mux(slots.lower == LowerSlot.DATA, self.window[1], self.window[0])",
        "self.window[0]",
        "pack/test_half_flit_sequence.py::test_grid_of_the_standard",
    ),
    # Data
    Mutant(
        "carried half-flit replaced",
        "TL-098",
        GEARBOX,
        "Mux(carried == 0, lower, carry[0])",
        "Mux(carried == 1, lower, carry[0])",
        "transmit/test_grids.py",
    ),
    Mutant(
        "byte enables from quarter 0 on",
        "TL-036",
        GEARBOX,
        "slot.eq(job.slot + beat)",
        "slot.eq(beat)",
        "test_layer.py::test_both_ways_at_once",
    ),
    Mutant(
        "half a beat poisoned",
        "TL-082",
        GEARBOX,
        "half_flit.message.eq(error)",
        "half_flit.message.eq(error & (half_flit is lower))",
        "transmit/test_top.py::test_grids_of_the_standard",
    ),
    Mutant(
        "Reads carry NUMBEATS",
        "TL-212",
        INTAKE,
        "Mux(req.cmd == ReqCmd.READ.value, 0, req.num_beats)",
        "~req.num_beats",
        "test_layer.py::test_both_ways_at_once",
    ),
    Mutant(
        "status lost in compression",
        "TL-194",
        ANSWERS,
        "self.compress & (field.status == 0)",
        "self.compress & (field.status[2:] == 0)",
        "test_layer.py::test_both_ways_at_once",
    ),
)
