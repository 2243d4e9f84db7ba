"""The rules of the TL that the link checker knows, in one table."""

from typing import NamedTuple

__all__ = ["RULES", "Rule", "TLProtocolError"]


class Rule(NamedTuple):
    """What is wrong when the rule is broken, where UALink_200 says so, and the requirements' numbers."""

    text: str
    section: str
    requirements: tuple[str, ...]


def _rule(text: str, section: str, *numbers: int) -> Rule:
    return Rule(text, section, tuple(f"TL-{number:03}" for number in numbers))


RULES: dict[str, Rule] = {
    # The stream of flits.
    "known": _rule("a signal is neither 0 nor 1", "§5.1.1", 3),
    "stable": _rule("a flit is withdrawn or changed before it is taken", "§5.1.1", 217),
    # Fields and where they stand. After these the sequence is lost.
    "ftype": _rule("FTYPE of a control field is 6h to Fh", "§5.9", 171, 220),
    "footprint": _rule("a control field stands where its length does not fit", "§5.1.1", 6, 8, 9, 10, 220),
    "compressed_cmd": _rule("CMD of a Compressed Request is reserved", "§5.9.3", 187, 220),
    "block_crossing": _rule("a Compressed Request crosses a 256-byte boundary", "§5.9.3", 190, 220),
    # The sequence of half-flits. After these it is lost.
    "mandatory_nop": _rule("the upper half must be a NOP half-flit and is not zero", "§5.1.1", 43, 44, 45, 220),
    "poison_slot": _rule("poison where no data half-flit is due", "§5.3", 81, 220),
    "poison_byte_enables": _rule("poison in the place of byte enables", "§5.1.2", 63, 84, 220),
    "tags_message": _rule("a message in the place of AuthTags", "§5.1.2", 64),
    "tag_count": _rule("more than four Requests and Responses with authentication", "§5.1.1", 52, 220),
    "swap_tagged": _rule("a Request or Response in a swap flit with authentication", "§5.1.1", 50, 220),
    # Half-flits.
    "unused_tags": _rule("an unused AuthTag is not 0", "§5.1.1", 54),
    "poison_pair": _rule("one half of a beat is poisoned and the other is not", "§5.3", 82, 83),
    "message_type": _rule("the type of a message is not 00h, 01h or 20h", "§5.1.2", 65),
    "byte_enables": _rule("byte enables outside the blocks of the transfer are not 0", "§5.1.1", 31, 36),
    # What fields say.
    "atomic_beats": _rule("an AtomicR or AtomicNR brings more than one beat", "§5.1.1", 32),
    "response_members": _rule("OFFSET, LEN or LAST is not 0 where it has no meaning", "§5.9.2", 178, 179, 180, 197),
    "encrypted_response": _rule("a Compressed Response on a link with encryption", "§9.5.2", 181),
    "compressed_meta_data": _rule("METADATA of a Compressed Request has a bit that must be 0", "§5.9.3", 191),
    "spare": _rule("spare bits of a field or unused payload of a message are not 0", "§5.9", 222),
    "fc_duplicate": _rule("two Flow Control fields of a half-flit return for the same bucket", "§5.1.1", 22),
    "backoff": _rule("more fields of a kind than the backoff mode allows", "§5.10", 200, 201, 202, 203, 204),
    # Source rate limits.
    "request_rate": _rule("more Requests than the receiver can catch", "§5.7", 130, 131, 137, 220),
    "response_rate": _rule("more Responses than the receiver can catch", "§5.7", 130, 134, 139, 220),
    # Credits.
    "before_release": _rule("a Request or Response before both initial credit releases", "§5.8", 154, 161),
    "credit_req_cmd": _rule("a Request without a command credit", "§5.8", 146, 150, 160, 218, 220),
    "credit_rsp_cmd": _rule("a Response without a command credit", "§5.8", 146, 150, 160, 218, 220),
    "credit_req_data": _rule("a Request without credits for its data", "§5.8", 146, 148, 164, 218, 220),
    "credit_rsp_data": _rule("a Read Response without credits for its data", "§5.8", 146, 148, 164, 218, 220),
    "over_return": _rule("more credits are returned than were announced", "§5.8", 163, 219),
    "initial_credits": _rule("the initial credits of a class that needs some are none", "§5.8", 155, 169),
    "release_twice": _rule("a second Initial Credit Release Complete", "§5.8", 157),
    # Address caches.
    "never_loaded": _rule("a Compressed Request reads an entry that was never loaded", "§5.6.2", 124, 184, 220),
    "cache_size": _rule("a row or way that the receiver's Address Cache does not have", "§5.5", 90, 105, 106, 207),
}
"""By name; sections and numbers are those of UALink_200 and of ``docs/requirements``."""


class TLProtocolError(AssertionError):
    """A rule of the TL is broken: ``rule``, a key of ``RULES``, in transmitted flit number ``flit``, from 1."""

    def __init__(self, rule: str, flit: int, detail: object = ""):
        self.rule = rule
        self.flit = flit
        text, section, self.requirements = RULES[rule]
        where = f"{section}; {', '.join(self.requirements)}"
        super().__init__(f"flit {flit}: {rule}: {text} ({where})" + (f": {detail}" if detail != "" else ""))
