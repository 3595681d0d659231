"""Designs: where to put the points at which the model is asked. One file per scheme."""

from mase.registry import Registry

__all__ = ["DESIGNS"]

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
)
