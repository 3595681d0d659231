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
    },
)
