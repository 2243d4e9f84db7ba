"""An engine that finds a rule broken: ``BROKEN`` is ``status``, it takes none for one that a Response may have, or
``vld_parity``, it looks for this of Read Responses at another signal, which rises before links are up."""

import os

from ualink_sim.pod.engine import bench, job
from ualink_sim.pod.engine.bench import by_engine

__all__ = ["by_engine"]

_encode_well, _interface_well = job.encode, job._interface


def _encode(*arguments):
    taken, job.Status = job.Status, ()
    try:
        return _encode_well(*arguments)
    finally:
        job.Status = taken


def _interface(out, places, prefix):
    if prefix.endswith("upli_completer"):
        places = {**places, f"{prefix}__rd_rsp__vld_parity": places[f"{prefix}__comp_clk_req"]}
    _interface_well(out, places, prefix)


if os.environ["BROKEN"] == "status":
    bench.encode = _encode
else:
    job._interface = _interface
