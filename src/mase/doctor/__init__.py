"""What a model was taken for, found out by asking it: `mase.check`, and `mase doctor` on the command line."""

__all__: list[str] = []
