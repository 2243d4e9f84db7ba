"""Responses, matched with the Requests that they answer and checked (UALink_200 §2.7.5, §2.7.6, §2.7.8)."""

from ...model.upli import transactions as upli
from .channel import Beat
from .requests import model_request
from .rules import ProtocolError
from .transaction import Transaction

__all__ = ["ResponseCollector"]

_Key = tuple[int, int, int]

_STATUSES = set(upli.Status) - {upli.Status.ISOLATE}
_OF_ADDRESSES = {upli.Status.DECODE_ERROR, upli.Status.PROTECTION_VIOLATION}
"""Statuses that say something of ReqAddr: no answer to a message whose ReqAddr is no address (UALink_200 §2.7.5.1)."""


class ResponseCollector:
    """Keeps the outstanding Requests of an interface and gathers the beats that answer them.

    ``isolated``: a Write Response with status ISOLATE has come, which answers nothing (UALink_200 §3.1.4).
    """

    def __init__(self, ports: int):
        self.ports = ports
        self.isolated = False
        self._open: dict[_Key, Transaction] = {}
        self._due: dict[int, tuple[int, Transaction]] = {}

    @property
    def outstanding(self) -> list[Transaction]:
        """Requests without their whole Response."""
        return list(self._open.values())

    @property
    def busy(self) -> bool:
        """Requests are outstanding."""
        return bool(self._open)

    def add(self, transaction: Transaction) -> None:
        """``transaction`` is issued."""
        request = transaction.request
        key = request["port_id"], request["src_phys_acc_id"], request["tag"]
        if key in self._open:
            raise ProtocolError("req", "tag_in_use", f"tag {key[2]} of accelerator {key[1]} on port {key[0]}")
        self._open[key] = transaction

    def take(self, cycle: int, channel: str, beat: Beat) -> Transaction | None:
        """Note a Response beat; gives the transaction that it completes."""
        if channel == "wr_rsp" and beat["status"] == upli.Status.ISOLATE:
            self.isolated = True
            return None
        key = beat["port_id"], beat["dst_phys_acc_id"], beat["tag"]
        transaction = self._open.get(key)
        if transaction is None:
            detail = f"tag {key[2]} for accelerator {key[1]} on port {key[0]}"
            raise ProtocolError(channel, "unknown_tag", detail)
        self._check_common(channel, beat, transaction)
        if channel == "rd_rsp":
            self._check_transfer(cycle, beat, transaction)
        transaction.response.append(beat)
        if not beat.get("last", 1):
            return None
        del self._open[key]
        transaction.completed = cycle
        return transaction

    def check(self, cycle: int) -> None:
        """Demand the beats that had to come in ``cycle``; to be called after its ``take``."""
        for port, (due, _) in self._due.items():
            if due <= cycle:
                raise ProtocolError("rd_rsp", "contiguous", f"port {port}")

    def _check_common(self, channel: str, beat: Beat, transaction: Transaction) -> None:
        request, response = transaction.request, transaction.response
        cmd = request["cmd"]
        if not _either_channel(request):
            expected = "rd_rsp" if upli.responds_on_rd_rsp(model_request(request)) else "wr_rsp"
            if channel != expected:
                raise ProtocolError(channel, "response_channel", f"command {cmd:#04x}, tag {beat['tag']}")
        if beat["vc"] != request["vc"]:
            raise ProtocolError(channel, "vc", f"{beat['vc']} for a Request on VC {request['vc']}")
        if not _may_be_status(request, beat["status"]) or (response and response[0]["status"] != beat["status"]):
            raise ProtocolError(channel, "status", f"{beat['status']:#03x}, tag {beat['tag']}")

    def _check_transfer(self, cycle: int, beat: Beat, transaction: Transaction) -> None:
        """Offset, Last, NumBeats and place of a Read Response beat, in either mode."""
        response, offset, num_beats = transaction.response, beat["offset"], beat["num_beats"]
        count = _read_beats(transaction.request)
        detail = f"beat {len(response)} of tag {beat['tag']}: {num_beats=} {offset=} last={beat['last']}"
        wrong_count = num_beats != 0 and count is not None and num_beats + 1 != count
        if wrong_count or (response and response[0]["num_beats"] != num_beats):
            raise ProtocolError("rd_rsp", "num_beats", detail)
        if num_beats:
            port = beat["port_id"]
            if response and self._due[port] != (cycle, transaction):
                raise ProtocolError("rd_rsp", "contiguous", detail)
            self._due.pop(port, None)
            if offset != len(response):
                raise ProtocolError("rd_rsp", "offset", detail)
            last = offset == num_beats
            if not last:
                self._due[port] = cycle + self.ports, transaction
        else:
            seen = {earlier["offset"] for earlier in response} | {offset}
            highest = max(seen) if count is None and beat["last"] else (count or 4) - 1
            if len(seen) != len(response) + 1 or offset > highest:
                raise ProtocolError("rd_rsp", "offset", detail)
            # Where the vendor decides how many beats there are, Last ends them, and none below the highest is left out.
            last = len(seen) == highest + 1 if count is not None or beat["last"] else False
        if beat["last"] != last:
            raise ProtocolError("rd_rsp", "last", detail)


def _may_be_status(request: Beat, status: int) -> bool:
    """Whether the tables of ``request``'s command know ``status`` (UALink_200 Tables 2-9, 2-10, 2-12 and 2-13)."""
    if upli.is_vendor_defined(request["cmd"]):
        return True
    # Whether ReqAddr of a vendor's message is an address, only the vendor knows (ruling A-46).
    null = request["cmd"] == upli.ReqCmd.UPLI_WRITE_MESSAGE and request["meta_data"] not in upli.VENDOR_MESSAGES
    return status in _STATUSES - _OF_ADDRESSES if null else status in _STATUSES


def _either_channel(request: Beat) -> bool:
    """The vendor decides which channel answers: atomics and messages of vendors."""
    cmd = request["cmd"]
    if cmd == upli.ReqCmd.UPLI_WRITE_MESSAGE:
        return request["meta_data"] in upli.VENDOR_MESSAGES
    return upli.is_vendor_defined(cmd) and cmd >> 4 == 0b11


def _read_beats(request: Beat) -> int | None:
    """Beats of a whole Read Response to ``request``; None where its vendor or message type decides."""
    if request["cmd"] == upli.ReqCmd.READ:
        return upli.beats_of(request["addr"], request["len"])
    return 1 if request["cmd"] == upli.ReqCmd.ATOMIC_R else None
