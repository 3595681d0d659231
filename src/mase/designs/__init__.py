"""Designs: schemes that choose the points at which the model is evaluated."""

from typing import TYPE_CHECKING

from mase.registry import Registry, lazy_names

if TYPE_CHECKING:
    from mase.designs.placement import Gaussian as Gaussian
    from mase.solve.distributions import Covariance as Covariance
    from mase.solve.problem import Design as Design
    from mase.solve.problem import Distribution as Distribution
    from mase.solve.problem import Sample as Sample

__all__ = ["DESIGNS", "Covariance", "Design", "Distribution", "Gaussian", "Sample"]

DESIGNS = Registry(
    "design",
    {
        "iid": "mase.designs.gaussian:Iid",
        "antithetic": "mase.designs.gaussian:Antithetic",
        "orthogonal": "mase.designs.gaussian:Orthogonal",
        "moment-matched": "mase.designs.gaussian:MomentMatched",
        "sobol": "mase.designs.gaussian:Sobol",
        "path": "mase.designs.gaussian:Path",
        "bernoulli": "mase.designs.masking:Bernoulli",
        "independent": "mase.designs.masking:Independent",
        "focused": "mase.designs.adaptive:Focused",
        "close-up": "mase.designs.adaptive:CloseUp",
        "hadamard": "mase.designs.masking:Hadamard",
        "lime": "mase.designs.masking:Lime",
        "lime-paper": "mase.designs.masking:LimePaper",
        "shapley": "mase.designs.coalitions:Shapley",
        "leverage": "mase.designs.coalitions:Leverage",
        "leave-one-out": "mase.designs.masking:LeaveOneOut",
        "gauss-legendre": "mase.designs.gaussian:GaussLegendre",
        "text-only": "mase.designs.gaussian:TextOnly",
    },
    "mase.designs",
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Covariance": "mase.solve.distributions",
            "Design": "mase.solve.problem",
            "Distribution": "mase.solve.problem",
            "Gaussian": "mase.designs.placement",
            "Sample": "mase.solve.problem",
        },
    )
