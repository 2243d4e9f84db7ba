"""The rules of UPLI that the bus models check, in one table."""

__all__ = ["RULES", "ProtocolError"]

RULES: dict[str, str] = {
    "known": "a signal is neither 0 nor 1 (§4.2)",
    "reset_state": "a signal is not 0 in the first cycle without reset (§4.1)",
    "handshake_order": "a ClkAck comes before its ClkReq (§4.3)",
    "handshake_sticky": "a ClkReq or ClkAck falls without a reset (§4.3)",
    "connection": "beats or credits come before the handshake that opens their direction (§2.7.8, §4.3)",
    "port": "a port that the interface does not have (§2.5)",
    "vld_parity": "VldParity differs from Vld (§2.7)",
    "beat_parity": "a parity signal does not fit what it covers (§2.7)",
    "auth_tag": "AuthTag is not 0 without a beat (§2.7)",
    "tdm_phase": "a beat comes outside of its port's TDM slot (§2.5)",
    "credit_vld_parity": "CreditVldParity does not fit CreditVld (§2.7)",
    "credit_parity": "CreditParity does not fit what it covers (§2.7)",
    "credit_overrun": "a beat spends a credit that its sender does not have (§2.6)",
    "credit_return": "a credit is returned that no beat has spent (§2.6)",
    "init_done": "a beat comes within two cycles of its port's CreditInitDone, or before it (§2.6)",
    "init_done_sticky": "CreditInitDone falls without a reset (§2.6)",
    "command": "ReqCmd is Reserved (§2.7.4.6)",
    "request": "address, length, NumBeats or message type of a Request do not fit (§2.7.4.6, §2.8)",
    "first_data": "a Request with data comes without its first OrigData beat (§2.7.8)",
    "data_overlap": "a Request with data comes before the OrigData of the last one ended (§2.7.8)",
    "data_owner": "an OrigData beat belongs to no Request (§2.7.8)",
    "contiguous": "a beat of a transfer is missing in its port's slot (§2.7.8)",
    "offset": "Offset is not the place of the beat in its transfer (§2.7.8)",
    "last": "Last is not on the last beat alone (§2.7.8)",
    "vc": "the VC differs from the Request's (§2.7.5, §2.7.6, §2.7.7)",
    "tag_in_use": "a Request has the tag of one that is outstanding (§2.7.4.2)",
    "unknown_tag": "a Response belongs to no outstanding Request (§2.7.4.2)",
    "response_channel": "a Response comes on a channel that its command does not use (§2.7.3)",
    "num_beats": "NumBeats does not fit the Response (§2.7.8)",
    "status": "Status is none that the command has, or differs between the beats of a Response (§2.7.5, §2.7.6)",
}
"""What each rule finds wrong, by name; sections are those of UALink_200."""


class ProtocolError(AssertionError):
    """A rule of UPLI is broken: ``rule``, a key of ``RULES``, on ``channel`` (or on the ``handshake``)."""

    def __init__(self, channel: str, rule: str, detail: object = ""):
        self.channel = channel
        self.rule = rule
        super().__init__(f"{channel}: {rule}: {RULES[rule]}" + (f": {detail}" if detail != "" else ""))
