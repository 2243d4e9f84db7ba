"""What the executable model of a TL receiver makes of flits, in the terms of the receiver's tests."""

from support.tl.traffic import CHANNELS, Expected
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.forward import forwarded
from ualink_sim.model.tl.reassembly import Reassembler, ReceivedReadResponse, ReceivedRequest
from ualink_sim.model.tl.sequence import ProtocolError, ReceiveSequence

__all__ = ["received"]

PLAIN_READ = 0x03


def _members(beat, **changes):
    return {name: int(value) for name, value in vars(beat).items() if isinstance(value, int)} | changes


def _data(beat):
    return int.from_bytes(beat.data, "little")


def received(config, flits, authentication=False, encryption=False):
    """Beats that ``flits`` give (only the channels of it), by the sequence, the reassembly and the Address Cache of the
    model; AssertionError if the model finds an error.

    A plain Read has num_beats 0, whatever NUMBEATS says (ruling D05).
    """
    member = "src_acc_id" if config.device == "accelerator" else "dst_acc_id"
    rows = config.rx_cache.rows
    cache = AddressCache(member, rows, config.rx_cache.ways) if rows else None
    sequence = ReceiveSequence(authentication, config.uwm_has_byte_enables, encryption)
    reassembler = Reassembler(cache, config.uwm_has_byte_enables, byte_enable_slots=config.byte_enable_slots)
    result = Expected()
    for flit in flits:
        if flit is None:
            continue
        events = sequence.receive(*flit[:2])
        assert not any(isinstance(event, ProtocolError) and event.fatal for event in events), events
        for item in forwarded(reassembler.push(events)):
            if isinstance(item, ReceivedRequest):
                changes = {"num_beats": 0} if item.request.cmd == PLAIN_READ else {}
                result.req.append(_members(item.request, **changes))
                result.orig_data += [_members(beat, data=_data(beat)) for beat in item.beats]
            elif isinstance(item, ReceivedReadResponse):
                result.rd_rsp += [_members(beat, data=_data(beat)) for beat in item.beats]
            else:
                result.wr_rsp.append(_members(item.beat))
    return {channel: getattr(result, channel) for channel in CHANNELS}
