"""Suites that disturb the engine at random and compare it with the oracles."""
