"""Flits and link states that break rules."""

from dataclasses import replace

from support.bfm.dl.breaking import UP, always, at, breaks, once, raw
from support.bfm.dl.fake_link import rewrite
from ualink_sim.model.dl.endpoint import IDLE
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.messages import DeviceId, PortNumber
from ualink_sim.model.dl.sequence import next_seq

# The flit.


@breaks("crc")
def flipped_bit(link):
    once(link, lambda slot, header: slot[:100] + bytes([slot[100] ^ 4]) + slot[101:])


@breaks("op_code")
def reserved_op(link):
    once(link, lambda slot, header: rewrite(slot, header=0b101 << 21))


@breaks("op_code")
def replay_without_payload(link):
    once(link, lambda slot, header: None if header.payload else rewrite(slot, header=0b001 << 21 | 1 << 8))


@breaks("header_reserved")
def reserved_bits_of_command(link):
    once(link, lambda slot, header: rewrite(slot, header=header.encode() | 0x10))


@breaks("header_reserved")
def reserved_bits_of_explicit(link):
    def change(slot, header):
        return rewrite(slot, header=header.encode() | 1 << 18) if isinstance(header, ExplicitHeader) else None

    once(link, change)


@breaks("number_zero")
def explicit_number_zero(link):
    once(link, lambda slot, header: rewrite(slot, header=ExplicitHeader(header.payload, False, 0)))


@breaks("number_zero")
def ack_of_zero(link):
    def change(slot, header):
        return rewrite(slot, header=replace(header, ack_req_seq=0)) if isinstance(header, CommandHeader) else None

    once(link, change)


def _on_payload(link, edit, fits=lambda flit: True):
    def change(slot, header):
        if not header.payload:
            return None
        done = []

        def change_flit(flit):
            if fits(flit):
                edit(flit)
                done.append(True)

        other = rewrite(slot, change=change_flit)
        return other if done else None

    once(link, change)


@breaks("segment_reserved", load=0.5)
def bit_1_of_segment_header(link):
    _on_payload(link, lambda flit: flit.segment_headers.__setitem__(2, flit.segment_headers[2] | 2))


@breaks("message_bits", load=0.3)
def message_of_absent_flit(link):
    def edit(flit):
        flit.segment_headers[4] |= 0x60

    _on_payload(link, edit, lambda flit: not flit.segment_headers[4] & 0x80)


@breaks("flit_start", load=20)
def second_flit_without_room(link):
    def edit(flit):
        segment = next(n for n, header in enumerate(flit.segment_headers) if header & 0x90 == 0x10)
        flit.segment_headers[segment] |= 0x80

    _on_payload(link, edit, lambda flit: any(header & 0x90 == 0x10 for header in flit.segment_headers))


@breaks("first_flit", load=20)
def second_flit_in_place_of_the_first(link):
    device = link.device

    def change(slot, header):
        if device.packer.carry_over and len(device.packer.carry_over) == 15:
            device.raw_messages.append((PortNumber().encode(), False))

        def edit(flit):
            first = flit.segment_headers[0]
            if first & 0x11 == 0x11 and link.checker.flit_rules.carry_over == 15:
                flit.segment_headers[0] = 1 | 0x80 | (first >> 2 & 3) << 5

        other = rewrite(slot, change=edit)
        return other if other != slot else None

    once(link, change)


@breaks("zero_fill")
def rest_of_segment_not_zero(link):
    raw(link, DeviceId().encode())
    _on_payload(link, lambda flit: flit.sectors.__setitem__(31, 5))


@breaks("zero_fill")
def rest_of_first_half_not_zero(link):
    raw(link, DeviceId().encode())
    _on_payload(link, lambda flit: flit.sectors.__setitem__(100, 5))


@breaks("nop_content")
def nop_with_a_sector(link):
    edit = lambda flit: flit.sectors.__setitem__(156, 1 << 31)  # noqa: E731
    once(link, lambda slot, header: None if header.payload else rewrite(slot, change=edit))


@breaks("empty_payload")
def nop_with_payload_bit(link):
    def change(slot, header):
        return rewrite(slot, header=ExplicitHeader(True, False, next_seq(link.device.transmitter.tx_last_seq)))

    once(link, change)


# Link states.


@breaks("link_fault")
def local_fault_ignored(link):
    at(link, UP, lambda: link.checker.show_fault(local=True))


@breaks("link_fault")
def remote_fault_ignored(link):
    at(link, UP, lambda: link.checker.show_fault(remote=True))


@breaks("link_fault")
def remote_fault_of_nothing(link):
    at(link, UP, lambda: setattr(link.device, "local_fault", True))


def _early_payload(link, flits):
    count = [0]

    def change(slot, header):
        count[0] += 1
        edit = lambda flit: flit.segment_headers.__setitem__(0, 1)  # noqa: E731
        return rewrite(slot, header=ExplicitHeader(True, False, 1), change=edit) if count[0] == flits else None

    always(link, change, since=0)


@breaks("link_nops")
def payload_after_nine_nops(link):
    _early_payload(link, 10)


@breaks("link_early")
def payload_to_nobody(link):
    link.partner_hand = lambda link, slot: slot if slot is IDLE else None
    _early_payload(link, 15)


@breaks("link_down")
def control_flits_ignored(link):
    link.partner_hand = lambda link, slot: IDLE if link.time > UP else slot
    link.ear = lambda link, slot: None if link.time > UP else slot


@breaks("link_idle")
def two_idle_slots(link):
    always(link, lambda slot, header: IDLE if link.time in (UP, UP + 1) else None)


@breaks("containment")
def flits_after_an_inverted_crc(link):
    once(link, lambda slot, header: rewrite(slot, invert_crc=True))
