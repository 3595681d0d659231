"""Read and write results as JSON."""

__all__: list[str] = []
