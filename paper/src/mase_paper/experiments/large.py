"""Faithfulness on encoders of the size of BERT-base.

The texts are few, because an evaluation takes eight times the arithmetic that it takes on the six-layer MiniLMs. The
rivals are those that practitioners know, and the paper's. Two experiments: as many evaluations as a user of so large a
model affords, and as many as in the paper, on fewer texts.
"""

from dataclasses import dataclass

from mase.methods import parse
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import Faithfulness
from mase_paper.experiments.runner import Work
from mase_paper.experiments.testbeds import LARGE

__all__ = ["AFFORDED", "AS_IN_THE_PAPER", "Large"]

_OURS = ("mase", "mase-paper", "mase-sparse", "mase-nlgp")
_RIVALS = ("lime", "kernel-shap", "partition-shap", "permutation-importance", "greedy-search")
# These take as many evaluations as they need.
_FIXED = ("occlusion", "gradient-x-input", "integrated-gradients", "random")


@dataclass(frozen=True, slots=True)
class Large(Faithfulness):
    """The methods on the encoders of the size of BERT-base, on `n_texts` texts of each."""

    n_texts: int = 0

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every encoder."""
        configurations = scope.chosen_configurations([parse(text) for text in self.methods])
        return [
            Work(target, configuration, scope.texts(self.n_texts))
            for target in scope.chosen_targets(tuple(LARGE))
            for configuration in configurations
        ]


AFFORDED = Large(
    "large",
    "Encoders of the size of BERT-base: `{subject}` against other explainers",
    (*(f"{method}+n_samples=200" for method in (*_OURS, *_RIVALS)), *_FIXED),
    n_texts=60,
)
AS_IN_THE_PAPER = Large(
    "large-1000",
    "Encoders of the size of BERT-base, 1,000 evaluations: `{subject}` against other explainers",
    (*(f"{method}+n_samples=1000" for method in (*_OURS, *_RIVALS)), *_FIXED),
    n_texts=12,
)
