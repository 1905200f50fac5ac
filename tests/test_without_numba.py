"""The scenarios and golden files once more with the kernels as plain Python: compiled code hides no error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITES = (
    *(f"tests/test_{name}.py" for name in ("golden", "scenarios", "scenarios_functions", "paper_examples")),
    *(f"tests/test_kernels_{name}.py" for name in ("anchors", "checkpoints", "lineage", "results", "values")),
)


def test_the_scenarios_pass_with_interpreted_kernels() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *SUITES]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-5000:]
