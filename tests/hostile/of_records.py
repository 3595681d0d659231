"""A function of records for the command, which imports this file alone."""

import math

__all__ = ["judge"]


def judge(records):
    """Return class probabilities that depend on every field."""
    answers = []
    for record in records:
        total = sum(
            sum(map(ord, value)) % 7 if isinstance(value, str) else min(max(value, -9), 9) for value in record.values()
        )
        positive = 1 / (1 + math.exp(-0.1 * total))
        answers.append([1 - positive, positive])
    return answers
