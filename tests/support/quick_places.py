"""Numbers of signals that are those of one function of Python."""

__all__ = ["Places"]


class Places:
    """What a compiler asks of a simulator's state.

    Signals and memories are numbered as they come, so that modules that are the same have the same text, which is
    compiled once. ``slots`` : their states, by these numbers.
    """

    def __init__(self, state):
        self.state, self.slots = state, []
        self._numbers: dict[int, int] = {}

    def get_signal(self, signal) -> int:
        return self._number_of(self.state.get_signal(signal))

    def get_memory(self, memory) -> int:
        return self._number_of(self.state.get_memory(memory))

    def add_signal_waker(self, signal, waker) -> None:
        """Nobody wakes a function: it has its place in the order, or its clock."""

    def _number_of(self, place):
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self.slots)
            self.slots.append(self.state.slots[place])
        return number
