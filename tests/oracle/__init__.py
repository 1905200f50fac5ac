"""What the right answer is, twice and without a line of cacq: `plain` in Python, `duck` in DuckDB.

`language` is a small syntax tree of its own and `spelling` its text; `queries` and `generate` make random cases from
one integer; `forms` turns rows into what `push` accepts; `compare` reads an answer as the oracles write it.
"""
