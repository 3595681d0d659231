"""Completion servers: the dialects in which they score a given answer, and the check that their scores are true."""

__all__: list[str] = []
