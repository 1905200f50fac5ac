"""What the engine is measured against: written first, and not touched in a commit that reports a ratio."""
