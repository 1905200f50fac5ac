"""Compiled kernels on disk, kept so that nothing that happens to the files can stop or crash a process.

Each compiled signature is one file. Its name holds a digest of all it depends on: the source, the signature, the
machine, the versions. Its first bytes are a digest of name and content. A file that is missing, cut short, damaged or
from elsewhere does not count: the kernel is compiled and the file replaced. Files appear whole, by a rename, so
processes that compile at the same time only do the same work twice.

Numba's own cache is not used: a cut file raises out of the kernel's first call, a damaged one may crash the process,
and its index can lead to another process's data file when two compile different signatures at once.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba
from numba.core import config, serialize
from numba.core.caching import InTreeCacheLocator, UserProvidedCacheLocator, UserWideCacheLocator, _Cache
from numba.core.compiler import CompileResult

DIGEST = sha256().digest_size
NAME = 16
"""Hexadecimal digits of a digest in the name of a file."""


class KernelCache(_Cache):
    """The files of one kernel. The first place that has a sound file is read, the first that lets us is written.

    The places: the directory that NUMBA_CACHE_DIR names and no other; without it `__pycache__` beside the source, where
    a read-only install may have been warmed up before, then the user's cache directory.
    """

    def __init__(self, function: FunctionType, also: str) -> None:
        """`also` is a source file that the kernel depends on beside its own."""
        source = function.__code__.co_filename
        locators: tuple[Any, ...] = (InTreeCacheLocator, UserWideCacheLocator)
        if vars(config)["CACHE_DIR"]:
            locators = (UserProvidedCacheLocator,)
        self._places = [Path(locator(function, source).get_cache_path()) for locator in locators]
        self._kernel = f"{Path(source).stem}.{function.__qualname__}"
        self._sources = _digest(Path(source).read_bytes(), Path(also).read_bytes())
        self._function = function

    @property
    def cache_path(self) -> str:
        """The place that is tried first."""
        return str(self._places[0])

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """What was compiled for this signature, or None."""
        target_context.refresh()
        name = self._name(signature, target_context.codegen())
        for place in self._places:
            with suppress(OSError):
                stored = (place / name).read_bytes()
                if _seal(name, stored[DIGEST:]) == stored[:DIGEST]:
                    return _rebuild(target_context, stored[DIGEST:])
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled in the first place that can be written; nowhere, if there is none."""
        if compiled.lifted or compiled.library.has_dynamic_globals:  # holds addresses of this process
            return
        data = _dumps(compiled._reduce())
        name = self._name(signature, compiled.codegen)
        for place in self._places:
            with suppress(OSError):
                _write(place / name, _seal(name, data) + data)
                self._remove(place, keep=f"{self._kernel}-{self._sources}-")  # earlier sources' files would pile up
                return

    def enable(self) -> None:
        """Nothing: a kernel is always cached."""

    def disable(self) -> None:
        """Nothing: a kernel is always cached."""

    def flush(self) -> None:
        """Remove every file of the kernel."""
        for place in self._places:
            self._remove(place, keep="/")

    def _name(self, signature: Any, codegen: Any) -> str:
        versions = numba.__version__, llvmlite.__version__, sys.implementation.cache_tag
        described = repr((signature, codegen.magic_tuple(), versions)).encode()
        closure = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        key = _digest(described, self._function.__code__.co_code, _dumps(closure))
        return f"{self._kernel}-{self._sources}-{key}.nbc"

    def _remove(self, place: Path, keep: str) -> None:
        """Remove the files of the kernel whose names do not begin so."""
        for path in place.glob(f"{self._kernel}-*.nb[ci]"):
            if not path.name.startswith(keep):
                with suppress(OSError):
                    path.unlink()


def _digest(*parts: bytes) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:NAME]


def _dumps(value: Any) -> bytes:
    return bytes(serialize.dumps(value))  # type: ignore[no-untyped-call]


def _seal(name: str, data: bytes) -> bytes:
    """What stands at the beginning of a file that is whole and in its place."""
    return sha256(name.encode() + data).digest()


def _rebuild(target_context: Any, data: bytes) -> Any:
    """The compile result, or None where a sound file does not fit this process after all."""
    try:
        return CompileResult._rebuild(target_context, *pickle.loads(data))  # type: ignore[no-untyped-call]
    except Exception:
        return None


def _write(path: Path, content: bytes) -> None:
    """Make the file appear whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
