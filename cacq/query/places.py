"""A place in the text of a query, shown to its author: line, column, and a caret under it."""

from __future__ import annotations

from cacq.errors import SqlError

_WINDOW = 100
_CUT = "..."


def error_at(sql: str, offset: int, message: str, hint: str | None = None) -> SqlError:
    """The error to raise for the character at `offset`; an offset at the end of the text points behind it."""
    first = sql.rfind("\n", 0, offset) + 1
    last = sql.find("\n", offset)
    line = sql[first:] if last < 0 else sql[first:last]
    return SqlError(
        message,
        hint,
        line=sql.count("\n", 0, offset) + 1,
        column=offset - first + 1,
        caret=_caret(line, offset - first),
    )


def _caret(line: str, position: int) -> str:
    """The line, or a window of it around the position, and below it a caret under the position.

    Control characters, tabs among them, become one blank each: the caret would stand elsewhere otherwise.
    """
    start = max(0, min(position - _WINDOW // 2, len(line) - _WINDOW))
    end = min(len(line), start + _WINDOW)
    shown = "".join(character if character.isprintable() else " " for character in line[start:end])
    before = _CUT if start else ""
    after = _CUT if end < len(line) else ""
    return f"{before}{shown}{after}".rstrip() + "\n" + " " * (len(before) + position - start) + "^"


def shorten(text: str, most: int = 60) -> str:
    """The text on one line, cut so that it fits into a message."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - len(_CUT)] + _CUT
