"""Language models: the probability of an answer after a prompt, as a function of what the prompt holds."""

__all__: list[str] = []
