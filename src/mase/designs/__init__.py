"""Designs: schemes that choose the points at which the model is evaluated. One file per scheme."""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.designs.placement import Gaussian as Gaussian
    from mase.regression.covariance import Covariance as Covariance
    from mase.regression.design import Design as Design
    from mase.regression.design import ExhaustiveDesign as ExhaustiveDesign
    from mase.regression.problem import Distribution as Distribution
    from mase.regression.problem import Sample as Sample

__all__ = ["DESIGNS", "Covariance", "Design", "Distribution", "ExhaustiveDesign", "Gaussian", "Sample"]

DESIGNS = Registry(
    "design",
    {
        "iid": "mase.designs.iid:Iid",
        "antithetic": "mase.designs.antithetic:Antithetic",
        "orthogonal": "mase.designs.orthogonal:Orthogonal",
        "moment-matched": "mase.designs.moment_matched:MomentMatched",
        "sobol": "mase.designs.sobol:Sobol",
        "path": "mase.designs.path:Path",
        "bernoulli": "mase.designs.bernoulli:Bernoulli",
        "independent": "mase.designs.independent:Independent",
        "focused": "mase.designs.focused:Focused",
        "close-up": "mase.designs.close_up:CloseUp",
        "hadamard": "mase.designs.hadamard:Hadamard",
        "lime": "mase.designs.lime:Lime",
        "lime-paper": "mase.designs.lime_paper:LimePaper",
        "shapley": "mase.designs.shapley:Shapley",
        "leverage": "mase.designs.leverage:Leverage",
        "leave-one-out": "mase.designs.leave_one_out:LeaveOneOut",
        "gauss-legendre": "mase.designs.gauss_legendre:GaussLegendre",
        "text-only": "mase.designs.text_only:TextOnly",
    },
    "mase.designs",
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Covariance": "mase.regression.covariance",
            "Design": "mase.regression.design",
            "Distribution": "mase.regression.problem",
            "ExhaustiveDesign": "mase.regression.design",
            "Gaussian": "mase.designs.placement",
            "Sample": "mase.regression.problem",
        },
    )
