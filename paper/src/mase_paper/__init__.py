"""The paper's experiments, and the training of the bundled models, repeated with `mase`."""

__all__: list[str] = []
