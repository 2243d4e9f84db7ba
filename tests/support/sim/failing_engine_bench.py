"""An engine that takes no status for one that a Response may have."""

from ualink_sim.pod.engine import bench, job
from ualink_sim.pod.engine.bench import by_engine

__all__ = ["by_engine"]


def _encode(*arguments):
    taken, job.Status = job.Status, ()
    try:
        return job.encode(*arguments)
    finally:
        job.Status = taken


bench.encode = _encode
