"""What every method runs on: the oracle that asks the model, and the regression with its rounds and quality."""

__all__: list[str] = []
