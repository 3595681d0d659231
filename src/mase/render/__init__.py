"""Attributions for the eye: terminal, HTML and figures, one module each; `palette` and `pieces` are what they share."""

__all__: list[str] = []
