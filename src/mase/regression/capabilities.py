"""What a method needs beyond class scores, and the errors for probes that do not have it."""

from mase.errors import CapabilityError
from mase.models.protocol import AttributionProbe, ExchangeProbe, GradientProbe, HalfProbe, Probe

__all__ = ["differentiable", "exchanging", "half_precision", "with_rules"]


def differentiable(probe: Probe, method: str) -> GradientProbe:
    """Return a probe that has gradients.

    Raises
    ------
    CapabilityError
        If it has none.
    """
    if not isinstance(probe, GradientProbe):
        raise CapabilityError(
            f"method {method!r} needs gradients, which this model does not provide; use method='mase'"
        )
    return probe


def exchanging(probe: Probe, method: str) -> ExchangeProbe:
    """Return a probe that can exchange words.

    Raises
    ------
    CapabilityError
        If it cannot.
    """
    if not isinstance(probe, ExchangeProbe):
        raise CapabilityError(
            f"method {method!r} exchanges words, which this model does not support; use method='occlusion'"
        )
    return probe


def with_rules(probe: Probe, method: str) -> AttributionProbe:
    """Return a probe whose model has rules that distribute a difference of responses over the words.

    Raises
    ------
    CapabilityError
        If it has none.
    """
    if not isinstance(probe, AttributionProbe):
        raise CapabilityError(f"method {method!r} supports the bundled LSTM classifiers only; use method='kernel-shap'")
    return probe


def half_precision(probe: Probe) -> Probe | None:
    """Return a probe in half precision; None where that would be slower.

    Raises
    ------
    CapabilityError
        If it has no half precision.
    """
    if not isinstance(probe, HalfProbe):
        raise CapabilityError(
            "half precision requires a torch model, expected precision='float32' for a function of texts"
        )
    return probe.half()
