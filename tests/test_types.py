"""Types, checked beside the other tests: one core would stand idle while ``mypy`` runs before them."""

import subprocess
import sys


def test_types_are_right(root):
    run = subprocess.run([sys.executable, "-m", "mypy"], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
