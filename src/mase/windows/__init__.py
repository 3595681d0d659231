"""Texts that are too long for a model, explained in windows."""

__all__: list[str] = []
