"""`mase serve`: a local page on which explanations are made, touched and read."""

__all__: list[str] = []
