"""A memory that answers a bus model's Requests: the executable model's Completer behind a ``UPLICompleter``."""

from dataclasses import fields
from typing import Any

from ...model.upli import transactions as upli
from ...model.upli.completer import Completer
from .channel import Beat
from .requests import model_request

__all__ = ["MemoryHandler", "to_beat"]


def to_beat(record: Any) -> Beat:
    """A beat of the bus models from one of the executable model's."""
    beat = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: int.from_bytes(v, "little") if isinstance(v, bytes) else int(v) for name, v in beat.items()}


class MemoryHandler:
    """Executes each Request on ``completer``, whose memory starts as zeros: a handler for ``UPLICompleter``."""

    def __init__(self, completer: Completer | None = None):
        self.completer = completer if completer is not None else Completer()

    @property
    def memory(self):
        """The bytes, with ``read(address, size)`` and ``write(address, data)``."""
        return self.completer.memory

    def __call__(self, request: Beat, data: list[Beat]) -> tuple[str, list[Beat]]:
        """The Response channel and beats."""
        beats = [
            upli.OrigDataBeat(
                data=beat["data"].to_bytes(64, "little"),
                byte_en=beat["byte_en"],
                offset=beat["offset"],
                last=bool(beat["last"]),
                error=bool(beat["error"]),
                vc=beat["vc"],
            )
            for beat in data
        ]
        response = self.completer.execute(model_request(request), beats)
        channel = "rd_rsp" if isinstance(response[0], upli.RdRspBeat) else "wr_rsp"
        return channel, [to_beat(beat) for beat in response]
