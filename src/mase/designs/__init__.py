"""Designs: where to put the points at which the model is asked. One file per scheme."""

from typing import TYPE_CHECKING, Any

from mase.registry import Registry

if TYPE_CHECKING:
    from mase.regression.problem import Design as Design
    from mase.regression.problem import Distribution as Distribution
    from mase.regression.problem import Sample as Sample

__all__ = ["DESIGNS", "Design", "Distribution", "Sample"]

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
        "focused": "mase.designs.focused:Focused",
        "lime": "mase.designs.lime:Lime",
        "lime-paper": "mase.designs.lime_paper:LimePaper",
        "shapley": "mase.designs.shapley:Shapley",
        "leave-one-out": "mase.designs.leave_one_out:LeaveOneOut",
        "gauss-legendre": "mase.designs.gauss_legendre:GaussLegendre",
        "text-only": "mase.designs.text_only:TextOnly",
    },
    "mase.designs",
)


def __getattr__(name: str) -> Any:
    """Give the values and protocols that an addition to this folder needs; they load NumPy, which the names above do not."""
    if name not in __all__:
        raise AttributeError(f"module 'mase.designs' has no attribute {name!r}")
    from mase.regression import problem

    return getattr(problem, name)
