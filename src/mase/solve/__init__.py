"""The regression behind every explanation: problem, covariance, stopping rule and quality of the fit."""

__all__: list[str] = []
