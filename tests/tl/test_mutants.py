"""Every wrong version of the transaction layer is noticed: by a test that is named beside it, or by a short soak.

CI takes a slice, the same each time; ``make soak`` (UALINK_SOAK=1) all of them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.tl.mutant_modules import changed_text
from support.tl.mutants import MUTANTS, SOAK

HERE = Path(__file__).parent
WHOLE = bool(os.environ.get("UALINK_SOAK"))
SLICES = 1 if WHOLE else 28
BY_TESTS = [mutant for mutant in MUTANTS if mutant.caught_by != SOAK]
BY_SOAK = [mutant for mutant in MUTANTS if mutant.caught_by == SOAK]


def run(arguments: list[str], mutant, **environment: str) -> subprocess.CompletedProcess:
    """A Python of its own in which ``mutant`` is the truth."""
    paths = os.pathsep.join(filter(None, [str(HERE.parent), *sys.path]))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, "TL_MUTANT": mutant.name if mutant else "", **environment},
        capture_output=True,
        text=True,
        cwd=HERE.parent.parent,
    )


@pytest.mark.soak
@pytest.mark.parametrize("mutant", BY_TESTS[::SLICES], ids=lambda mutant: mutant.name)
def test_a_test_notices(tmp_path, mutant):
    """The test that is named beside a mutant fails with it, and not for want of something else."""
    target = f"{HERE / mutant.caught_by}"
    options = ["-q", "-x", "-p", "support.tl.mutant_modules", "-p", "no:cacheprovider"]
    done = run(["-m", "pytest", *options, target], mutant, UALINK_REQUIREMENT_RESULTS=str(tmp_path / "results.json"))
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.soak
@pytest.mark.skipif(not WHOLE, reason="a simulation of its own for each mutant; make soak runs them")
@pytest.mark.parametrize("mutant", [None, *BY_SOAK], ids=lambda mutant: mutant.name if mutant else "none")
def test_the_soak_notices(mutant):
    """A short soak finds no fault with the right version, and one with each wrong version."""
    done = run(["-m", "support.tl.mutant_soak"], mutant)
    assert done.returncode in (0, 3), done.stdout[-2000:] + done.stderr[-2000:]
    print(done.stdout[-300:])
    assert (done.returncode == 3) == (mutant is not None)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_apply(mutant):
    """The text that a mutant changes stands once in its module, what comes of it is Python, and its test exists."""
    compile(changed_text(mutant), mutant.name, "exec")
    if mutant.caught_by != SOAK:
        file, _, function = mutant.caught_by.partition("::")
        assert f"def {function}" in (HERE / file).read_text()
