"""Sequence numbers, Acks, Replay Requests and replays that break rules."""

from dataclasses import replace

from support.bfm.dl.breaking import UP, always, at, breaks, lose_one, lose_one_behind, once
from support.bfm.dl.fake_link import header_of, rewrite
from ualink_sim.model.dl.endpoint import LOST
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.replay import ReplayTransmitter
from ualink_sim.model.dl.sequence import next_seq, seq_advance

# Sequence numbers, Acks, Replay Requests.


@breaks("sequence")
def nop_with_another_number(link):
    once(link, lambda slot, header: rewrite(slot, header=ExplicitHeader(False, False, 77)))


@breaks("sequence", load=1)
def skipped_number(link):
    def change(slot, header):
        if not header.payload or isinstance(header, ExplicitHeader):
            return None
        return rewrite(slot, header=replace(header, flit_seq_lo=(header.flit_seq_lo + 1) % 8))

    once(link, change)


@breaks("explicit_cadence")
def no_explicit_flits(link):
    def change(slot, header):
        if isinstance(header, CommandHeader):
            return None
        ack = link.device.receiver.rx_last_seq_calc
        return rewrite(slot, header=CommandHeader(header.payload, False, ack, header.flit_seq_no & 7))

    always(link, change)


def _ack(link, advance, hold=False):
    kept = []

    def change(slot, header):
        if isinstance(header, ExplicitHeader) or header.replay_request:
            return None
        number = seq_advance(header.ack_req_seq, advance)
        kept.append(number)
        return rewrite(slot, header=replace(header, ack_req_seq=kept[0] if hold else number))

    (always if hold else once)(link, change)


@breaks("ack_order", load=1)
def older_ack(link):
    _ack(link, -3)


@breaks("ack_range", load=1)
def ack_of_what_has_not_come(link):
    _ack(link, 1)


@breaks("ack_late", load=1)
def ack_that_stays(link):
    _ack(link, 0, hold=True)


@breaks("request_unprovoked")
def request_of_nothing(link):
    def change(slot, header):
        if isinstance(header, ExplicitHeader):
            return None
        wanted = next_seq(header.ack_req_seq)
        return rewrite(slot, header=CommandHeader(header.payload, True, wanted, header.flit_seq_lo))

    once(link, change)


def _requests(link, copy, other):
    """Change copy number ``copy`` of the Replay Requests; None: all of them."""
    count = [0]

    def change(slot, header):
        if isinstance(header, ExplicitHeader) or not header.replay_request:
            return None
        count[0] += 1
        return rewrite(slot, header=other(header)) if copy in (None, count[0]) else None

    always(link, change)


def _as_ack(link):
    return lambda header: CommandHeader(
        header.payload, False, link.device.receiver.rx_last_seq_calc, header.flit_seq_lo
    )


@breaks("request_missing", load=1)
def no_request(link):
    lose_one(link)
    _requests(link, None, _as_ack(link))


@breaks("request_copies", load=1)
def two_copies(link):
    lose_one(link)
    _requests(link, 3, _as_ack(link))


@breaks("request_unprovoked", load=1)
def four_copies(link):
    lose_one(link)
    once(link, lambda slot, header: None)
    at(link, UP + 9, lambda: setattr(link.device.transmitter, "tx_replay_req_count", 1))


@breaks("request_number", load=1)
def request_of_a_later_flit(link):
    lose_one(link)
    _requests(link, None, lambda header: replace(header, ack_req_seq=next_seq(header.ack_req_seq)))


@breaks("request_number", load=1)
def copies_that_differ(link):
    lose_one(link)
    _requests(link, 2, lambda header: replace(header, ack_req_seq=next_seq(header.ack_req_seq)))


@breaks("request_spacing", load=1, options={"codeword_group": 4, "request_spacing": 0})
def copies_too_close(link):
    lose_one(link)


# Replays.


@breaks("replay_missing", load=1)
def deaf_to_requests(link):
    lose_one_behind(link)
    link.ear = lambda link, slot: _without_request(link, slot)


def _without_request(link, slot):
    header = header_of(slot)
    if isinstance(header, CommandHeader) and header.replay_request:
        return rewrite(
            slot, header=replace(header, replay_request=False, ack_req_seq=link.device.transmitter.rx_last_ack)
        )
    return slot


@breaks("replay_unprovoked", load=1)
def replay_of_its_own(link):
    def start():
        link.device.transmitter.tx_replay = link.device.transmitter.tx_first_replay = True
        link.device.transmitter._replay_index = 0

    at(link, UP, start)


@breaks("replay_unprovoked", load=1)
def replay_within_the_window(link):
    """A second copy of the request is obeyed as well."""
    lose_one_behind(link)
    transmitter = link.device.transmitter
    receive = transmitter.receive

    def receiving(header):
        transmitter.rx_replay_ignore_count = 0
        receive(header)

    transmitter.receive = receiving


def _first_of_replay(link, other):
    def change(slot, header):
        if isinstance(header, CommandHeader) or not header.replay:
            return None
        return rewrite(slot, header=other(header))

    lose_one_behind(link)
    once(link, change)


@breaks("replay_start", load=1)
def replay_starts_with_an_ack(link):
    _first_of_replay(
        link, lambda header: CommandHeader(True, False, link.device.receiver.rx_last_seq_calc, header.flit_seq_no & 7)
    )


@breaks("replay_number", load=1)
def replay_starts_one_later(link):
    lose_one_behind(link)

    def ear(link, slot):
        header = header_of(slot)
        if isinstance(header, CommandHeader) and header.replay_request:
            return rewrite(slot, header=replace(header, ack_req_seq=next_seq(header.ack_req_seq)))
        return slot

    link.ear = ear


@breaks("replay_op", load=1)
def first_replayed_flit_as_original(link):
    _first_of_replay(link, lambda header: replace(header, replay=False))


@breaks("replay_op", load=1)
def new_flit_as_replay(link):
    def change(slot, header):
        if isinstance(header, CommandHeader) or not header.payload or header.replay:
            return None
        return rewrite(slot, header=replace(header, replay=True))

    once(link, change)


def _within_replay(link, change, number):
    """Change the flit ``number`` after the first one of a replay."""
    seen = []

    def look(slot, header):
        if isinstance(header, ExplicitHeader) and header.replay:
            seen.append(0)
        elif seen:
            seen.append(1)
        return change(slot, header) if len(seen) == number + 1 else None

    lose_one_behind(link)
    once(link, look)


@breaks("replay_order", load=1, delay=4)
def replayed_flit_skipped(link):
    _within_replay(
        link, lambda slot, header: rewrite(slot, header=replace(header, flit_seq_lo=(header.flit_seq_lo + 1) % 8)), 2
    )


@breaks("replay_content", load=1)
def replayed_flit_differs(link):
    def change(slot, header):
        return rewrite(slot, change=lambda flit: flit.sectors.__setitem__(50, flit.sectors[50] ^ 1))

    _within_replay(link, change, 1)


@breaks("replay_incomplete", load=1, delay=4)
def replay_breaks_off(link):
    def change(slot, header):
        link.device.transmitter.tx_replay = False

    _within_replay(link, change, 2)


class Boundless(ReplayTransmitter):
    """Takes more than 255 flits."""

    can_accept = True


@breaks("window", load=1)
def flits_without_end(link):
    link.device.transmitter = Boundless()
    link.partner_hand = lambda link, slot: LOST if link.time > UP else slot


@breaks("forward_progress", load=1, tx_ack_time_out=0, options={"tx_ack_time_out": 50})
def patience_without_end(link):
    link.partner_hand = lambda link, slot: LOST if link.time > UP else slot
