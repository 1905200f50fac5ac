"""Everything that checks cacq; `tests.oracle` shares no code with it."""
