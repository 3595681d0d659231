"""Models behind a URL: one file per protocol, and a client that they share.

All of them are black boxes (`mase.models.callable`). `opening` finds the protocol of a URL.
"""

__all__: list[str] = []
