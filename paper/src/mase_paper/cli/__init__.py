"""The commands `mase reproduce` and `mase train`, which this package adds to `mase`."""

__all__: list[str] = []
