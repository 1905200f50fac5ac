"""What can go wrong, said so that the reader knows what to do: a message, a hint, and for SQL the place."""

from __future__ import annotations


class CacqError(Exception):
    """Base of every error cacq raises on purpose. `hint` says what to do; `line`, `column` and `caret` say where."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
        caret: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column
        self.caret = caret

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line}, column {self.column})"
        parts = [self.message + place]
        if self.caret:
            parts.append(self.caret)
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class SqlError(CacqError):
    """The text of a query is wrong or asks for something that is not supported; nothing was registered."""


class DataError(CacqError):
    """Pushed rows do not fit their stream; nothing of the push was applied."""


class CatalogError(CacqError):
    """A stream, function or query of that name does not exist, or exists already with another definition."""


class OptionError(CacqError):
    """An argument has a value that is not allowed."""


class FunctionError(CacqError):
    """A user-defined function raised, or returned a value of another type than it declared."""


class ResultsLost(CacqError):
    """Results of a query left memory (`retain_bytes`) before they were polled. Raised once; `count` says how many."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count} results were dropped before they were polled",
            "poll more often, or raise Engine(retain_bytes=...)",
        )
        self.count = count
