"""What the README shows is what happens: every Python example with an output block after it is run."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_every_python_example_shows_its_output() -> None:
    assert EXAMPLES
    assert len(EXAMPLES) == README.count("```python")


@pytest.mark.parametrize(("code", "expected"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_readme_says(code: str, expected: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue() == expected


def test_the_first_example_has_at_most_ten_lines() -> None:
    code, _ = EXAMPLES[0]
    assert len(code.splitlines()) <= 10


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) < 150
