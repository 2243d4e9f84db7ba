"""Wrong versions of what puts fields and data into half-flits."""

from support.tl.mutant import Mutant

__all__ = ["PACK_MUTANTS"]

SHARE = "ualink.tl.pack.share"
LIMITS = "ualink.tl.pack.limits"
PLACEMENT = "ualink.tl.pack.placement"
PACKER = "ualink.tl.pack.packer"
CREDITS = "ualink.tl.credit.credits"
SLOTS = "ualink.tl.pack.half_flit_slots"
SEQUENCE = "ualink.tl.pack.half_flit_sequence"
GEARBOX = "ualink.tl.pack.data_gearbox"
INTAKE = "ualink.tl.transmit.request_intake"
ANSWERS = "ualink.tl.transmit.response_intake"

PACK_MUTANTS = (
    # Packing
    Mutant(
        "a fifth tagged field",
        "TL-052",
        "ualink.tl.pack.fields_in_sight",
        "(~self.authentication).replicate",
        "Const(1).replicate",
        "pack/test_fields_in_sight.py",
    ),
    Mutant(
        "tagged fields in a swap slot",
        "TL-050",
        SHARE,
        "self.swap & self.authentication",
        "Const(0)",
        "pack/test_packer_limits.py::test_fields_with_tags_wait_for_the_slot_after_a_swap",
    ),
    Mutant(
        "two where one is the limit",
        "TL-200",
        LIMITS,
        "Cat((n == 0) | above(limit, n) for",
        "Cat((n <= 1) | above(limit, n) for",
        "pack/test_packer_limits.py::test_backoff_mode_limits_its_kind",
    ),
    Mutant(
        "allowance as it was before a half-flit",
        "TL-131",
        "ualink.tl.pack.fields_in_sight",
        "self._outlook(m, here & room[gone], forms_of",
        "self._outlook(m, here & self.allowance, forms_of",
        "pack/test_fields_in_sight.py",
    ),
    Mutant(
        "source rate limit ignored",
        "TL-131",
        "ualink.tl.pack.fields_in_sight",
        "self._outlook(m, here & room[gone], forms_of",
        "self._outlook(m, here, forms_of",
        "pack/test_fields_in_sight_proof.py",
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
        "if base).any()",
        "if not base).any()",
        "pack/test_packer.py::test_random_half_flits",
    ),
    Mutant(
        "limit of Flow Control ignored",
        "TL-204",
        PACKER,
        "~self.complete & ((n == 0) | above(self.flow_control_limit, n))",
        "~self.complete",
        "pack/test_packer_limits.py::test_backoff_mode_limits_flow_control",
    ),
    # Sequence of half-flits
    Mutant(
        "a field that comes is forgotten by those in sight",
        "TL-126",
        "ualink.tl.pack.fields_in_sight",
        "Mux(there, entry.compressed, new) for",
        "Mux(there, entry.compressed, 0) for",
        "pack/test_fields_in_sight.py",
    ),
    Mutant(
        "claimed credits count twice",
        "TL-218",
        CREDITS,
        '"more"), gross + change)',
        '"more"), gross)',
        "credit/test_credits.py::test_random_claims_and_returns",
    ),
    Mutant(
        "swap slot not foreseen",
        "TL-042",
        SLOTS,
        "self.two & ~self.tagged, two_held",
        "0, two_held",
        "pack/test_half_flit_sequence.py::test_random_offers_and_stalls",
    ),
    Mutant(
        "no swap",
        "TL-042",
        SLOTS,
        "self.upper.eq(UpperSlot.DATA), after.eq(held)]",
        "self.upper.eq(UpperSlot.DATA), after.eq(held + 1)]",
        "pack/test_half_flit_sequence.py::test_random_offers_and_stalls",
    ),
    Mutant(
        "data beside the tags",
        "TL-048",
        SLOTS,
        "with m.Elif(holds & held_tagged):",
        "with m.Elif(holds & held_tagged & ~held_some):",
        "pack/test_half_flit_sequence.py::test_grid_of_the_standard",
    ),
    Mutant(
        "taken before the one in front has left",
        "TL-039",
        SLOTS,
        "self.flit & (self.swap_next | none_after & wished)",
        "self.swap_next | none_after & wished",
        "pack/test_half_flit_sequence.py::test_random_offers_and_stalls",
    ),
    Mutant(
        "contents leave with their forms",
        "TL-125",
        "ualink.tl.pack.fields_in_sight",
        "contents.takes[0].eq(taken)",
        "contents.takes[0].eq(select_one(self.chosen[1:], self.takes))",
        "pack/test_fields_in_sight.py",
    ),
    Mutant(
        "data of the Requests in front of those of the Responses",
        "TL-038",
        GEARBOX,
        "self.requests_go[0] & self.request_below &",
        "self.requests_go[0] &",
        "transmit/test_top.py::test_random_traffic",
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
        "self.compress & (response.status == 0)",
        "self.compress & (response.status[2:] == 0)",
        "test_layer.py::test_both_ways_at_once",
    ),
)
