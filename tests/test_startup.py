"""Start-up: nothing in the files of compiled kernels stops a process, and `warm_up` leaves nothing to compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cacq

ROOT = Path(__file__).parents[1]

KERNELS = """
import sys, types
import numpy as np

# Not the whole of cacq, which would take longer to import than these kernels to compile.
sys.modules["cacq"] = package = types.ModuleType("cacq")
package.__path__ = [ROOT]
from cacq.kernels.compiled import kernel


def doubled(value):
    return value * 2


twice = kernel(doubled)


def double_all(values, out):
    for i in range(len(values)):
        out[i] = twice(values[i])


def run(dtype=np.int64):
    '''Double numbers in a kernel that knows only what is on disk; whether it had to be compiled.'''
    fresh, out = kernel(double_all), np.zeros(4, dtype)
    fresh(np.arange(4, dtype=dtype), out)
    assert out.tolist() == [0, 2, 4, 6], out
    return sum(fresh.stats.cache_misses.values())


def run_both():
    return run() + run(np.float64)
"""

DAMAGE = """
import hashlib, os, pickle
from pathlib import Path
from small import np, run_both

assert (run_both(), run_both()) == (2, 0)
folder = Path(os.environ["NUMBA_CACHE_DIR"])
files = {path: path.read_bytes() for path in folder.rglob("small.double_all-*.nbc")}
assert len(files) == 2, files
(path, whole), (_, other) = files.items()
size = len(whole)
damaged = [whole[:length] for length in (0, 1, 31, 32, 33, 64, 100, size // 4, size // 2, size - 100, size - 1)]
for k in range(8):
    at = k * (size - 1) // 7
    damaged.append(whole[:at] + bytes([whole[at] ^ (1 << k)]) + whole[at + 1 :])
damaged += [whole[:at] + bytes(400) + whole[at + 400 :] for at in range(0, size - 400, size // 4)]
damaged += [whole + b"x", bytes(size), os.urandom(size), b"not a kernel\\n", other, pickle.dumps("5.0")]
for content in [b"junk", pickle.dumps(None), pickle.dumps((1, 2)), pickle.dumps(tuple(range(9)))]:
    damaged.append(hashlib.sha256(path.name.encode() + content).digest() + content)
for content in damaged:
    path.write_bytes(content)
    assert run_both() == 1, "it was used, or more was compiled than was damaged"
    assert run_both() == 0, "it was not replaced"
path.unlink()
assert (run_both(), run_both()) == (1, 0)
path.unlink()
path.mkdir()
assert (run_both(), run_both()) == (1, 1)
print(len(damaged))
"""

TWICE = "from small import run; print(run(), run())"


def python(code: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A new interpreter that can import `small`, the module of two kernels, from the folder."""
    (folder / "small.py").write_text(KERNELS.replace("ROOT", repr(str(ROOT / "cacq"))))
    paths = os.pathsep.join([str(folder), str(ROOT)])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**inherited, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> str:
    """What it printed; it must end well."""
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out.strip()


def test_a_damaged_file_is_compiled_again_and_replaced(tmp_path: Path) -> None:
    assert answer(python(DAMAGE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == "33"


def test_files_of_another_machine_version_or_source_are_not_used(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    generic = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert answer(python("from small import run; print(run())", tmp_path, **generic)) == "1"
    code = f"""
import numba
from small import __file__, run
runs, version = [run(), run()], numba.__version__
numba.__version__ = "another"
runs += [run(), run()]
numba.__version__ = version
runs += [run(), len(list(__import__("pathlib").Path({str(cache)!r}).rglob("small.double_all-*.nbc")))]
with open(__file__, "a") as source:
    source.write("# another source")
print(*runs, run(), run())
"""
    assert answer(python(code, tmp_path, NUMBA_CACHE_DIR=str(cache))) == "1 0 1 0 0 3 1 0"
    assert len(list(cache.rglob("small.double_all-*.nbc"))) == 1, "the files of the earlier source are still there"


def test_without_a_place_that_can_be_written_kernels_are_compiled_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert answer(python(TWICE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache"))) == "1 1"


def test_an_install_that_cannot_be_written_uses_the_cache_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("")
    home = tmp_path / "home"
    assert answer(python(TWICE, tmp_path, HOME=str(home), XDG_CACHE_HOME=str(home))) == "1 0"
    assert list(home.rglob("small.double_all-*.nbc"))


def test_an_install_that_was_warmed_up_before_it_became_read_only_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "__pycache__"
    nowhere = tmp_path / "file" / "home"
    (tmp_path / "file").write_text("")
    code = f"import os; from small import run; print(run()); os.chmod({str(folder)!r}, 0o555); print(run())"
    assert answer(python(code, tmp_path, HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))).split() == ["1", "0"]
    folder.chmod(0o755)


def test_processes_may_compile_at_the_same_time(tmp_path: Path) -> None:
    code = "from small import np, run; print([run(dtype) for dtype in (np.int64, np.float64)])"
    cache = tmp_path / "cache"
    processes = [python(code, tmp_path, NUMBA_CACHE_DIR=str(cache)) for _ in range(3)]
    for process in processes:
        answer(process)
    assert answer(python(code, tmp_path, NUMBA_CACHE_DIR=str(cache))) == "[0, 0]"
    left = [path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".nbc"]
    assert left == []


def test_after_warm_up_nothing_is_left_to_compile(tmp_path: Path) -> None:
    """The service run has queries, inputs and policies of its own. A kernel that only it needs is named here: give
    `warm_up` a query that runs it."""
    found = json.loads(answer(python("from tests.service import report; report()", tmp_path)))
    assert found["unknown"] == [], "warm_up runs none of these kernels"
    assert found["new"] == {}, "a push compiled these kernels for types that warm_up does not show them"
    assert found["kernels"] > 30


def test_progress_hears_of_what_is_compiled_and_of_nothing_else(tmp_path: Path) -> None:
    code = """
from small import np, run
from cacq.kernels.compiled import reporting
told = []
with reporting(lambda ready, kernels, name: told.append((ready, kernels, name))):
    run(), run()
run(np.float64)
print(told)
"""
    told = [(0, 2, "double_all"), (0, 2, "doubled")]
    assert answer(python(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == str(told)


def test_a_second_warm_up_has_nothing_to_tell() -> None:
    cacq.warm_up()
    told: list[object] = []
    cacq.warm_up(lambda *news: told.append(news))
    assert told == []
