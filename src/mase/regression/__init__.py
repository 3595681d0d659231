"""The regression behind every explanation: the problem, its covariance, when to stop asking, and how well it fits."""

__all__: list[str] = []
