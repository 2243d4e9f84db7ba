"""Rules for the DL UART: framing, credits, stream reset (UALink_200 §6.4.4; rulings A-13 and A-35 (DL))."""

from ...model.dl.messages import DLMessage, UARTCreditUpdate, UARTResetRequest, UARTResetResponse, UARTTransport
from ...model.dl.uart_credits import COUNTER_MODULUS
from .flit_rules import Report
from .options import CheckerOptions

__all__ = ["UartRules"]


class UartRules:
    """Follows the credits of both directions of stream 0.

    Attributes
    ----------
    credit : dwords that it may send.
    payload : dwords of the device's Transport Message that are still to come.
    """

    def __init__(self, report: Report, options: CheckerOptions):
        self._report = report
        self._options = options
        self.time = 0
        self.reset()

    def reset(self) -> None:
        """Link down."""
        self.payload = 0
        self._expected = 0  # payload dwords on their way to the device
        self._resetting = False
        self._response_owed: int | None = None
        self._restart()

    def _restart(self) -> None:
        self.credit = 0  # dwords that the partner has room for
        self._last_update = 0
        self._granted: int | None = None  # last DataFCSeq of the device
        self._ungranted = 0  # dwords that it got and gave no credit for since

    # What the device receives.

    def received_payload(self) -> None:
        """A payload dword reached the device."""
        self._ungranted += 1

    def received(self, message: DLMessage) -> None:
        """A message that reached the device."""
        match message:
            case UARTCreditUpdate(data_fc_seq=number, stream_id=0) if not self._resetting:
                self.credit += (number - self._last_update) % COUNTER_MODULUS
                self._last_update = number
            case UARTResetRequest():
                self._restart()
                self._response_owed = self.time
            case UARTResetResponse(status=0) if self._resetting:
                self._resetting = False

    # What it sends.

    def tick(self) -> None:
        """A flit was sent."""
        self.time += 1
        if self._response_owed is not None and self.time - self._response_owed > self._options.uart_reset_answer:
            self._report("uart_reset_answer")
            self._response_owed = None

    def segment(self, has_message: bool) -> None:
        """A segment of a new payload flit."""
        if self.payload and not has_message:
            self._report("uart_framing", f"{self.payload} dwords to come")
            self.payload = 0

    def sent(self, message: DLMessage) -> None:
        """A message of the device."""
        match message:
            case UARTTransport(length=length):
                self._transport(length + 1)
            case UARTCreditUpdate(data_fc_seq=number):
                self._grant(number)
            case UARTResetRequest():
                self._restart()
                self._resetting = True
            case UARTResetResponse():
                self._response_owed = None
                self._restart()

    def _transport(self, dwords: int) -> None:
        self.payload = dwords
        if self._resetting:
            self._report("uart_reset", "a Transport Message")
        elif self._response_owed is not None and self.time - self._response_owed > self._options.latency:
            self._report("uart_reset", "a Transport Message before the Reset Response")
        elif dwords > self.credit and self._response_owed is None:
            self._report("uart_credits", f"{dwords} dwords with {self.credit} credits")
        self.credit = max(0, self.credit - dwords)

    def _grant(self, number: int) -> None:
        if self._resetting:
            self._report("uart_reset", "a Credit Update")
        elif self._granted is not None:
            gain = (number - self._granted) % COUNTER_MODULUS
            if gain > self._ungranted:
                self._report("uart_grant", f"{gain} more, {self._ungranted} dwords received since")
            self._ungranted = max(0, self._ungranted - gain)
        self._granted = number
