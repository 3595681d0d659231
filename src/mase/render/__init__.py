"""Display attributions in a terminal, as HTML and as figures, with one module each."""

__all__: list[str] = []
