"""Texts that differ from a given one in their literals, edge values and odd ones among them, and in little else."""

from __future__ import annotations

import re
from random import Random

from cacq.query.lift import cut

INTEGERS = (
    *("0", "1", "2", "5", "007", "10", "99", "100", "9007199254740992", "9007199254740993", "999999999999999999"),
    *("9223372036854775806", "9223372036854775807", "9223372036854775808", "9223372036854775809", "1" + "0" * 30),
)
DECIMALS = (
    *("0.0", "0.", ".5", "1.5", "2.0", "2.5", "1e3", "1E-3", "5e-324", "1.7976931348623157e308", "1e309", "1e400"),
    *("9007199254740992.0", "9007199254740993.0", "9.223372036854775807e18", "9223372036854774784.0", "1e19"),
)
STRINGS = (
    *("''", "'a'", "'it''s'", "''''", "'a%'", "'%'", "'_b%'", "'100%'", "'!'", "'a!'", "'5'", "'5 seconds'", "'a\"b'"),
    *("'2026-01-31'", "'2026-01-31T12:00:00.5Z'", "'1969-12-31 23:59:59.999999+01:00'", "'2026-02-30'", "'-- no'"),
    *("'/* no'", "'\u00e9\U0001f600'", "'\n'", "'\x00'", "'\ud800'", "'1 day'", "'DAY'"),
)


class Mutator:
    """Makes texts that differ from a given one in their literals, and sometimes in what is between them."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def mutated(self, sql: str) -> str:
        pieces = cut(self.turned(sql) if self.random.random() < 0.3 else sql) or [sql]
        for index in range(1, len(pieces), 2):
            if self.random.random() < 0.7:
                pieces[index] = self.literal(pieces[index])
        if self.random.random() < 0.1:
            position = self.random.randrange(0, len(pieces), 2)
            pieces[position] = self.blanks(pieces[position])
        return "".join(pieces)

    def turned(self, sql: str) -> str:
        """The text with other comparisons, also where they are none."""
        operators = ("<", "<=", ">", ">=", "<", "<=", ">", ">=", "=", "<>", "!=")
        return re.sub(r"<>|[<>]=?|!=", lambda _: self.random.choice(operators), sql)

    def literal(self, literal: str) -> str:
        """Another one of the same kind, rarely of another; odd ones now and then."""
        kinds = (INTEGERS, DECIMALS, STRINGS)
        own = 2 if literal[0] == "'" else 0 if literal.isdigit() else 1
        if self.random.random() < 0.05:
            return self.random.choice(self.random.choice(kinds))
        if self.random.random() < 0.4:
            return self.random.choice(kinds[own])
        if own == 2 and "-" in literal:
            return f"'2026-0{self.random.randint(1, 9)}-1{self.random.randint(0, 9)}'"
        if own == 2:
            return (
                "'" + "".join(self.random.choices(("a", "b", "z", "%", "_", "''"), k=self.random.randint(0, 3))) + "'"
            )
        return str(self.random.randint(0, 120)) if own == 0 else repr(self.random.randint(0, 400) / 4)

    def blanks(self, gap: str) -> str:
        return gap.replace(
            " ", self.random.choice(("  ", "\t", "\n", " /* 5 */ ", " -- 'x'\n", " /* /* */ */ ", "")), 1
        )
