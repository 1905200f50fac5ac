"""Golden cases: `tests/golden/*.cq`, one topic a file, read from top to bottom.

A line that starts in the first column is an instruction, and the indented lines below it its text. `#` is a comment.

    stream S a:int64 s:string ts:timestamp timestamp=ts lateness=2.5
    query hot                      registers the SQL below under that name
      SELECT a FROM S WHERE a > 90
    push S late=1                  one record; a row is a JSON array (NaN, Infinity allowed), in the schema's order
      [95, "x", 1000]
    advance S 2000                 punctuation
    cancel hot
    expect hot columns=a           everything delivered since the last `expect` of that query, and nothing else
      0 +1 1000 never [95]         seq, op, ts, exp, row
    refuse                         the SQL below is refused with an error that has a place and a caret
      SELECT a FROM S WHERE
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.oracle.compare import read
from tests.oracle.plain import NEVER, Delta

if TYPE_CHECKING:
    import cacq

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.cq"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_file_holds(path: Path, engine: cacq.Engine) -> None:
    play = Play(engine)
    for number, words, body in instructions(path):
        try:
            getattr(play, words[0])(words[1:], body)
        except BaseException as error:
            error.add_note(f"{path.name}, line {number}: {' '.join(words)}")
            raise
    assert play.expected, "a golden file expects something"


def test_there_is_a_golden_file_for_each_construct() -> None:
    assert len(GOLDEN) >= 25


def instructions(path: Path) -> Iterator[tuple[int, list[str], list[str]]]:
    """(line number, words, indented lines below) of each instruction."""
    found: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            found[-1][2].append(line.strip())
        else:
            found.append((number, line.split(), []))
    yield from found


class Play:
    """Carries out the instructions of one file; one method for each."""

    def __init__(self, engine: cacq.Engine) -> None:
        self.engine = engine
        self.columns: dict[str, list[str]] = {}
        self.queries: dict[str, Any] = {}
        self.expected = 0

    def stream(self, words: list[str], body: list[str]) -> None:
        name, *rest = words
        schema = dict(word.split(":") for word in rest if ":" in word)
        options = dict(word.split("=") for word in rest if "=" in word)
        lateness = float(options.get("lateness", 0))
        self.engine.create_stream(name, schema, timestamp=options.get("timestamp"), lateness=lateness)
        self.columns[name] = list(schema)

    def query(self, words: list[str], body: list[str]) -> None:
        self.queries[words[0]] = self.engine.register("\n".join(body), name=words[0])

    def cancel(self, words: list[str], body: list[str]) -> None:
        self.queries[words[0]].cancel()

    def push(self, words: list[str], body: list[str]) -> None:
        rows = [dict(zip(self.columns[words[0]], json.loads(line), strict=True)) for line in body]
        pushed = self.engine.push(words[0], rows)
        options = dict(word.split("=") for word in words[1:])
        assert (pushed.rows, pushed.late) == (len(rows), int(options.get("late", 0)))

    def advance(self, words: list[str], body: list[str]) -> None:
        self.engine.advance(words[0], int(words[1]))

    def refuse(self, words: list[str], body: list[str]) -> None:
        import cacq

        with pytest.raises(cacq.SqlError) as caught:
            self.engine.register("\n".join(body))
        assert caught.value.line and caught.value.column and caught.value.caret
        self.expected += 1

    def expect(self, words: list[str], body: list[str]) -> None:
        name, *options = words
        deltas = self.queries[name].poll()
        wanted = [parse_delta(line) for line in body]
        assert list(map(repr, read(deltas))) == list(map(repr, wanted))
        for option in options:
            assert list(deltas.columns) == option.removeprefix("columns=").split(",")
        self.expected += 1


def parse_delta(line: str) -> Delta:
    seq, op, ts, exp, row = line.split(maxsplit=4)
    return int(seq), int(op), int(ts), NEVER if exp == "never" else int(exp), tuple(json.loads(row))
