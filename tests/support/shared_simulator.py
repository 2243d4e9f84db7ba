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
        self._simulator = Simulator(dut)
        self._simulator.add_clock(1e-9)

    def run(self, bench) -> None:
        """Run ``await bench(ctx, dut)`` from reset."""

        async def process(ctx):
            await bench(ctx, self.dut)

        self.run_all(process)

    def run_all(self, *processes, background=()) -> None:
        """Run ``processes`` from reset until they are done, and those in the ``background`` as long."""
        engine = self._simulator._engine
        for before in engine._testbenches:
            before.waits_on = None
        engine._testbenches.clear()
        engine._active_triggers.clear()
        self._simulator.reset()
        for process in processes:
            self._simulator.add_testbench(process)
        for process in background:
            self._simulator.add_testbench(process, background=True)
        self._simulator.run()
