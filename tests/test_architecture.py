"""The shape of the code, held by tests: who may import whom, what may not be called, how long a thing may be.

Every rule is a function from a module to sentences, one for each fault. It is run on all of cacq/, and once on a small
wrong module to show that it can fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = (
    {"errors"},
    {"data"},
    {"kernels"},
    {"query"},
    {"filters"},
    {"stems"},
    {"joins"},
    {"eddy"},
    {"windows"},
    {"deliver"},
    {"stream", "handle", "arguments", "explain", "plan", "engine"},
    {"testing", "warm"},
    {"__init__"},
)
"""A tuple walks down this list once; imports only point up it. `errors` stands first: everybody may raise. The files of
the facade stand together; `__init__` is what `import cacq` shows, so it comes last."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
OPERATORS = ("filters", "stems", "joins", "windows")
COMPILERS = ("numba", "llvmlite")
RANDOMNESS = ("random", "secrets", "uuid", "numpy.random")
WALL_CLOCKS = (
    "time.time",
    "time.time_ns",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
)
FILE_LINES, FUNCTION_LINES = 400, 60


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name (`cacq.filters.grouped`, `cacq.query.__init__`), its text and its tree."""

    name: str
    source: str

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def layer(self) -> str:
        return layer_of(self.name)


def layer_of(name: str) -> str:
    """The folder or file of LAYERS that a dotted name inside cacq belongs to; the package itself is its `__init__`."""
    return [*name.split("."), "__init__"][1]


def modules_under(folder: Path) -> list[Module]:
    files = sorted(folder.rglob("*.py"))
    return [Module(".".join(f.relative_to(ROOT).with_suffix("").parts), f.read_text("utf-8")) for f in files]


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything a module imports, wherever in it the import stands."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            parents = module.name.split(".")[: -node.level] if node.level else []
            base = ".".join(parents + ([node.module] if node.module else []))
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of every name and attribute, seen through `import x as y` and `from x import y`."""
    known: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name | ast.Attribute):
            root, *rest = ast.unparse(node).split(".")
            yield node.lineno, ".".join([known.get(root, root), *rest])


def imports_point_up(module: Module) -> Iterator[str]:
    if module.layer not in RANK:
        yield f"cacq/{module.layer} is not in the list of folders: give it a place in LAYERS"
        return
    for line, name in imports(module):
        if not within(name, ("cacq",)):
            continue
        target = layer_of(name) if layer_of(name) in RANK else "__init__"
        if RANK[target] > RANK[module.layer]:
            yield f"{module.name}:{line} imports {name}, but {target} comes after {module.layer} on the way of a tuple"


def operators_do_not_know_the_eddy(module: Module) -> Iterator[str]:
    for line, name in imports(module):
        if module.layer in OPERATORS and within(name, ("cacq.eddy", "cacq.engine")):
            yield f"{module.name}:{line} imports {name}: an operator returns batches, the eddy calls it"


def only_kernels_are_compiled(module: Module) -> Iterator[str]:
    for line, name in imports(module):
        if module.layer != "kernels" and within(name, COMPILERS):
            yield f"{module.name}:{line} imports {name}: compiled code lives in cacq/kernels only"


def nothing_is_printed(module: Module) -> Iterator[str]:
    for line, name in uses(module):
        if name in ("print", "sys.stdout", "sys.stderr"):
            yield f"{module.name}:{line} uses {name}: a library returns or raises"


def time_comes_from_outside(module: Module) -> Iterator[str]:
    found = [(line, name) for line, name in uses(module) if name in WALL_CLOCKS]
    if module.layer == "engine" and len(found) <= 1:
        return
    for line, name in found:
        yield f"{module.name}:{line} reads {name}: time is handed in; the one default clock is in engine.py"


def results_repeat(module: Module) -> Iterator[str]:
    routing = within(module.name, ("cacq.eddy.routing",))
    for line, name in uses(module):
        if within(name, RANDOMNESS) and not routing:
            yield f"{module.name}:{line} uses {name}: only cacq/eddy/routing draws random numbers"
        if name == "hash":
            yield f"{module.name}:{line} calls hash(): it differs between processes; use a hash with a fixed seed"


def files_are_short(module: Module) -> Iterator[str]:
    lines = module.source.count("\n")
    if lines >= FILE_LINES:
        yield f"{module.name} has {lines} lines: a file of {FILE_LINES} wants to be two"


def functions_are_short(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines >= FUNCTION_LINES:
                name = f"{module.name}:{node.lineno} {node.name}"
                yield f"{name} has {lines} lines: a function of {FUNCTION_LINES} wants to be three"


def definitions(node: ast.AST) -> Iterator[Definition]:
    """Functions, classes and methods whose names are public; what a function defines inside itself is its own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            if child.name.startswith("_"):
                continue
            yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from definitions(child)


@cache
def interface_methods() -> frozenset[str]:
    """Names of the methods that an abstract class or a Protocol of cacq describes, for all who implement it."""
    names: set[str] = set()
    for module in modules_under(ROOT / "cacq"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & {"ABC", "Protocol"}:
                names |= {method.name for method in definitions(node) if ast.get_docstring(method)}
    return frozenset(names)


def public_things_are_described(module: Module) -> Iterator[str]:
    if any(part.startswith("_") and part != "__init__" for part in module.name.split(".")):
        return
    for node in definitions(module.tree):
        if not ast.get_docstring(node) and node.name not in interface_methods():
            yield f"{module.name}:{node.lineno} {node.name} is public and has no docstring"


Rule = Callable[[Module], Iterator[str]]

WRONG: dict[Rule, tuple[Module, ...]] = {
    imports_point_up: (
        Module("cacq.data.batch", "from cacq.kernels.bits import popcount\n"),
        Module("cacq.filters.grouped", "def f():\n    from ..engine import Engine\n"),
        Module("cacq.query.parse", "import cacq\n"),
        Module("cacq.deliver.log", "from cacq import Engine\n"),
        Module("cacq.plumbing.pipe", ""),
    ),
    operators_do_not_know_the_eddy: (
        Module("cacq.filters.grouped", "import cacq.eddy.eddy\n"),
        Module("cacq.windows.distinct", "from cacq import eddy\n"),
    ),
    only_kernels_are_compiled: (
        Module("cacq.filters.grouped", "import numba as nb\n"),
        Module("cacq.data.batch", "from llvmlite import ir\n"),
    ),
    nothing_is_printed: (Module("cacq.engine", "print(1)\n"),),
    time_comes_from_outside: (
        Module("cacq.query.bind", "import datetime as dt\nnow = dt.datetime.now()\n"),
        Module("cacq.eddy.eddy", "from time import time as now\nstart = now()\n"),
        Module("cacq.engine", "import time\nfirst, second = time.time, time.time_ns\n"),
    ),
    results_repeat: (
        Module("cacq.eddy.eddy", "import random\nx = random.random()\n"),
        Module("cacq.query.plan", "import numpy as np\nx = np.random.default_rng()\n"),
        Module("cacq.eddy.routing", "x = hash('a')\n"),
    ),
    files_are_short: (Module("cacq.engine", "x = 1\n" * FILE_LINES),),
    functions_are_short: (Module("cacq.engine", "def f():\n" + "    x = 1\n" * FUNCTION_LINES),),
    public_things_are_described: (
        Module("cacq.engine", "class Engine:\n    '''It runs.'''\n    def push(self): ...\n"),
        Module("cacq.engine", "if True:\n    def f(): ...\n"),
        Module("cacq.engine", "class Engine: ...\n"),
    ),
}


@pytest.mark.parametrize("rule", WRONG, ids=lambda rule: rule.__name__)
def test_cacq_keeps_the_rule(rule: Rule) -> None:
    modules = modules_under(ROOT / "cacq")
    assert modules, "there is no source under cacq/"
    faults = [fault for module in modules for fault in rule(module)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("rule", "module"),
    [(rule, module) for rule, modules in WRONG.items() for module in modules],
    ids=lambda value: value.__name__ if callable(value) else value.name,
)
def test_the_rule_notices_a_module_that_breaks_it(rule: Rule, module: Module) -> None:
    assert list(rule(module))


@pytest.mark.parametrize(
    ("rule", "module"),
    [
        (imports_point_up, Module("cacq.eddy.eddy", "from cacq.data import batch\nfrom . import routing\n")),
        (imports_point_up, Module("cacq.__init__", "from cacq.engine import Engine\n")),
        (time_comes_from_outside, Module("cacq.engine", "import time\nclock = time.time\n")),
        (time_comes_from_outside, Module("cacq.eddy.eddy", "import time\nstart = time.perf_counter_ns()\n")),
        (results_repeat, Module("cacq.eddy.routing", "import random\nx = random.Random(0)\n")),
        (public_things_are_described, Module("cacq.engine", "def f():\n    '''Doc.'''\n    def g(): ...\n")),
    ],
    ids=lambda value: value.__name__ if callable(value) else value.name,
)
def test_the_rule_lets_a_right_module_pass(rule: Rule, module: Module) -> None:
    assert not list(rule(module))


def test_the_oracle_shares_no_code_with_the_engine() -> None:
    modules = modules_under(ROOT / "tests" / "oracle")
    assert modules, "there is no oracle under tests/oracle/"
    faults = [
        f"{module.name}:{line} imports {name}: an oracle that uses the engine proves nothing"
        for module in modules
        for line, name in imports(module)
        if within(name, ("cacq",))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock", "requirements-build.lock"])
def test_a_lock_names_exact_versions_and_nothing_else(lock: str) -> None:
    pin = re.compile(r"[a-z0-9-]+==[a-z0-9.]+( ; [a-z_]+ [<>=!]+ '[^'/]+')?")
    lines = (ROOT / lock).read_text("utf-8").splitlines()
    assert lines, f"{lock} is empty"
    assert [line for line in lines if not pin.fullmatch(line)] == []
