"""The name that `mase.procedures` had before version 0.3."""

from mase.procedures import PROCEDURES, Estimate, Oracle, Solution, Stopping, Strategy

__all__ = ["PROCEDURES", "Estimate", "Oracle", "Solution", "Stopping", "Strategy"]
