"""Thresholds so small that a few queries over a few rows change their form of lineage again and again."""

from __future__ import annotations

import pytest

from cacq.eddy import forms, sample, standing

ROWS = 32


def make_restless(monkeypatch: pytest.MonkeyPatch, many: int = 4, few: int = 2, moved: int = 3) -> None:
    """Every push reviews some predicates, by a sample of the last two pushes, and moves those that have changed."""
    for module in (forms, standing):
        monkeypatch.setattr(module, "MANY", many)
    monkeypatch.setattr(forms, "FEW", few)
    monkeypatch.setattr(standing, "OFTEN", 1)
    monkeypatch.setattr(standing, "SELDOM", 1)
    monkeypatch.setattr(standing, "REVIEWED", 11)
    monkeypatch.setattr(standing, "MOVED", moved)
    monkeypatch.setattr(sample, "ROWS", ROWS)
    monkeypatch.setattr(sample, "LOOKS", 2)
    monkeypatch.setattr(sample, "BELIEF", 1)
