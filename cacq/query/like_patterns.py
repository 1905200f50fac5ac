"""LIKE patterns that are really an equality or a prefix, and so can be indexed."""

from __future__ import annotations


def exact(pattern: str, escape: str) -> str | None:
    """The one string that the pattern matches, or None if it holds a wildcard."""
    pieces = _pieces(pattern, escape)
    return None if any(wild for _, wild in pieces) else "".join(text for text, _ in pieces)


def prefix(pattern: str, escape: str) -> str | None:
    """The text before a single `%` at the end, or None if the pattern is of another form."""
    pieces = _pieces(pattern, escape)
    if not pieces or pieces[-1] != ("%", True) or any(wild for _, wild in pieces[:-1]):
        return None
    return "".join(text for text, _ in pieces[:-1])


def _pieces(pattern: str, escape: str) -> list[tuple[str, bool]]:
    """The characters of the pattern, each with whether it is wild; runs of `%` count once."""
    pieces: list[tuple[str, bool]] = []
    escaped = False
    for character in pattern:
        if escaped:
            pieces.append((character, False))
            escaped = False
        elif escape and character == escape:
            escaped = True
        else:
            piece = (character, character in "%_")
            if piece != ("%", True) or pieces[-1:] != [piece]:
                pieces.append(piece)
    if escaped:
        pieces.append((escape, False))
    return pieces
