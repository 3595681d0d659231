"""Compare two runs over the same texts: which predictions and which reasons differ, and what is beyond the noise."""

from mase.comparison.compare import compare
from mase.comparison.comparison import Comparison
from mase.comparison.thresholds import Thresholds

__all__ = ["Comparison", "Thresholds", "compare"]
