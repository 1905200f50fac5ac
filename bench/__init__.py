"""Benchmarks: `python -m bench NAME [--quick] [--json FILE]`. They measure; the tests check."""
