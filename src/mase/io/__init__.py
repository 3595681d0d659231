"""Files of results, one module per format."""

__all__: list[str] = []
