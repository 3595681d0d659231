"""The models and tasks of the confirmation, with which no setting of a method was chosen. `fresh` opens a model."""

__all__: list[str] = []
