"""The verbs `mase reproduce` and `mase train`, which this package adds to the command."""

__all__: list[str] = []
