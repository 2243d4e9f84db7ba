"""One simulator for many tests: making it costs more than most tests that use it."""

from amaranth.sim import Simulator

__all__ = ["SharedSimulator"]


class SharedSimulator:
    """A simulated component that each test finds as it is after reset.

    Parameters
    ----------
    dut : the component, with one clock of 1 GHz.
    """

    def __init__(self, dut):
        self.dut = dut
        self._bench = None
        self._simulator = Simulator(dut)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._run)

    async def _run(self, ctx):
        await self._bench(ctx, self.dut)

    def run(self, bench) -> None:
        """Run ``await bench(ctx, dut)`` from reset."""
        if self._bench is not None:
            self._simulator.reset()
        self._bench = bench
        self._simulator.run()
