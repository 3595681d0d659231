"""Banzhaf values of boosted trees that are fitted to the responses: the surrogate of ProxySPEX."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.defaults import check_integer
from mase.errors import OptionError
from mase.estimators.linear import LeastSquares
from mase.registry import require
from mase.solve.distributions import no_scatter
from mase.solve.problem import Estimate, Estimator, Problem

# A leaf has at least so many rows, as in LightGBM, or this share of all rows if that is less.
_LEAST_LEAF, _LEAST_SHARE = 20, 0.1


@dataclass(frozen=True, slots=True)
class BoostedTrees(Estimator):
    """Fit gradient-boosted trees T to rows of zeros and ones, and return gamma_j = E[T(c_j = 1) - T(c_j = 0)].

    The mean is over independent fair coins for all words, which makes gamma_j the Banzhaf value of word j in T and, up
    to a factor of -2, its Fourier coefficient of degree 1 (ProxySPEX: Butler et al., arXiv 2505.17495). It is exact:
    one pass over the leaves of each tree. The trees are those of LightGBM, as in the package `shapiq`.

    Parameters
    ----------
    depth
        Largest number of splits on the way to a leaf, and so the largest number of words that interact in one tree.
    trees
        Number of trees.
    rate
        Learning rate: the share of each tree that is added.

    Notes
    -----
    `shapiq` chooses these settings among eight by cross-validation for each text, which takes 40 fits; the defaults are
    one of the eight, the same for all texts. It also keeps only the Fourier coefficients that make up 95 % of their
    energy, and fits those again by ridge regression. Many words then have a score of 0, so this is left out.

    There are no standard errors: those of a resampling take many times as long as the scores. Where the rows are all
    possible rows, no trees are needed, and gamma is the Banzhaf value of the response itself.
    """

    depth: int = 3
    trees: int = 500
    rate: float = 0.1

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, 1)
        check_integer("trees", self.trees, 1)
        if not 0 < self.rate <= 1:
            raise OptionError(f"rate is {self.rate}, expected a number above 0, at most 1")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with a covariance of NaN.

        Raises
        ------
        OptionError
            If a row has more than zeros and ones.
        MissingDependencyError
            If LightGBM is not installed.
        """
        if problem.exact is not None:  # every row counts the same for the trees
            z, y = (np.concatenate(pair) for pair in zip(problem.exact, (problem.z, problem.y), strict=True))
            weights = np.concatenate([np.full(len(z) - problem.n, problem.weights.mean()), problem.weights])
            problem = replace(problem, z=z, y=y, weights=weights, exact=None, components=None)
        if len(np.unique(problem.z)) > 2:
            raise OptionError(
                "estimator 'boosted-trees' got rows of many values, expected words that are there or not; use "
                "method='NAME+design=independent' or 'NAME+estimator=least-squares'"
            )
        if problem.unlimited:
            return LeastSquares().fit(replace(problem, weights=np.ones(problem.n)))
        gamma = sum((_effects(tree, problem.p) for tree in self._grown(problem)), start=np.zeros(problem.p))
        return Estimate(gamma, np.full_like(no_scatter(problem.p), np.nan), float(problem.p))

    def _grown(self, problem: Problem) -> list[dict[str, Any]]:
        """Return the root of each tree."""
        require("lightgbm", "boosting")
        import lightgbm

        settings = {
            "max_depth": self.depth,
            "learning_rate": self.rate,
            "min_data_in_leaf": max(1, min(_LEAST_LEAF, int(_LEAST_SHARE * problem.n))),
            "num_threads": 1,  # a thousand rows are too few for more
            "deterministic": True,
            "verbose": -1,
        }
        rows = lightgbm.Dataset(problem.z, problem.y, weight=problem.weights, params=settings)
        grown = lightgbm.train(settings, rows, num_boost_round=self.trees).dump_model()
        return [tree["tree_structure"] for tree in grown["tree_info"]]


def _effects(root: dict[str, Any], p: int) -> Floats:
    """Return the Banzhaf values `(p,)` of a tree that splits on zeros and ones, zeros to the left.

    No word is split twice on the way to a leaf. So at a split on word j each side counts half in the effects of other
    words, and that of j is the difference of the means of both sides.
    """
    effects = np.zeros(p)

    def mean(node: dict[str, Any], share: float) -> float:
        """Return the mean of the leaves below a node that a share of all masks reaches, and add its effects."""
        if "leaf_value" in node:
            return float(node["leaf_value"])
        low, high = (mean(node[side], share / 2) for side in ("left_child", "right_child"))
        effects[node["split_feature"]] += share * (high - low)
        return (low + high) / 2

    mean(root, 1.0)
    return effects
