"""Engines: where the workers of a run are. One file per engine."""

from mase.registry import Registry

__all__ = ["ENGINES"]

ENGINES = Registry(
    "engine",
    {
        "local": "mase.corpus.engines.local:Local",
        "here": "mase.corpus.engines.here:Here",
        "ray": "mase.corpus.engines.ray:Ray",
    },
    "mase.engines",
)
