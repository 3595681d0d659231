"""Chat models that return text and nothing else: how they are called, kept, compared and explained."""

__all__: list[str] = []
