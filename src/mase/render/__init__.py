"""Results as people read them: in a terminal, as HTML and as figures."""

__all__: list[str] = []
