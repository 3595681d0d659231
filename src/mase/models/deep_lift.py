"""DeepLIFT for the bundled LSTM classifiers, by captum: the network unrolled into layers that captum has rules for.

What is done where:

- The LSTM is unrolled over the text into one module per nonlinearity and step, since captum's rules need modules that
  are used once. Sigmoid and tanh have captum's Rescale rule, the maximum over time its max-pooling rule; linear maps
  need none.
- The gates' products a b, three per step, have no rule in captum, where they would get the plain gradient (b, a) at the text
  and sums would no longer hold. Here they get the multipliers ((b + b0) / 2, (a + a0) / 2), with 0 for the reference:
  the Shapley values of a product, shap's rule for them on TensorFlow, and what Rescale gives for ((a+b)^2 - a^2 - b^2)
  / 2.
- The response, a function of the k logits, gets the mean of its gradient along the straight line between the two logit
  vectors; for two classes, or one logit, that is Rescale once more.
"""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from mase.errors import CapabilityError, MissingDependencyError, ModelError
from mase.models.bundled.lstm import LSTMClassifier

__all__ = ["UnrolledLSTM", "contributions"]

# Points on the line between the logits: the margin has kinks there, which a fine midpoint rule does not mind.
_POINTS = 4096
# The unrolled network is computed in float64, the original in its own precision: logits may differ by rounding only.
_ROUNDING = 1e-3


class _Product(torch.autograd.Function):
    """a b for a batch whose second half is the reference; its derivatives are the average over both orders of a and b."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = (_mean_of_halves(factor) for factor in ctx.saved_tensors)
        return gradients[0] * b, gradients[0] * a


def _mean_of_halves(factor: torch.Tensor) -> torch.Tensor:
    mean = (factor[: len(factor) // 2] + factor[len(factor) // 2 :]) / 2
    return torch.cat([mean, mean])


class _Step(nn.Module):
    """One step of an LSTM: gates `(b, 4h)` before their nonlinearities and cell `(b, h)` to state and cell."""

    def __init__(self) -> None:
        super().__init__()
        self.sigmoid, self.tanh, self.tanh_of_cell = nn.Sigmoid(), nn.Tanh(), nn.Tanh()

    def forward(self, gates: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        enter, keep, new, leave = gates.chunk(4, dim=1)
        enter, keep, leave = self.sigmoid(torch.cat([enter, keep, leave], dim=1)).chunk(3, dim=1)
        cell = _Product.apply(keep, cell) + _Product.apply(enter, self.tanh(new))  # type: ignore[no-untyped-call]
        # A copy, because captum replaces the whole gradient of the tensor that a module is given, the next step's part
        # too.
        return _Product.apply(leave, self.tanh_of_cell(cell.clone())), cell  # type: ignore[no-untyped-call]


class UnrolledLSTM(nn.Module):
    """An `LSTMClassifier` for texts of t tokens, in float64: embeddings `(b, t, d)` to logits `(b, k)` or a `readout` of them.

    `readout` `(k,)` are the weights of a sum of the logits, `(b, 1)`; None leaves the logits.
    """

    def __init__(self, original: LSTMClassifier, t: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(_Step() for _ in range(t))
        self.pooling = nn.MaxPool1d(t) if original.pool == "max" else None
        self.weights = {name: value.detach().double() for name, value in original.state_dict().items()}
        self.readout: torch.Tensor | None = None

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return logits `(b, k)`, or their readout `(b, 1)`."""
        w = self.weights
        inputs = vectors @ w["lstm.weight_ih_l0"].T + w["lstm.bias_ih_l0"] + w["lstm.bias_hh_l0"]
        state = cell = inputs.new_zeros(len(vectors), w["lstm.weight_hh_l0"].shape[1])
        states = []
        for position, step in enumerate(self.steps):
            state, cell = step(inputs[:, position] + state @ w["lstm.weight_hh_l0"].T, cell)
            states.append(state)
        pooled = state if self.pooling is None else self.pooling(torch.stack(states, dim=2))[:, :, 0]
        logits: torch.Tensor = pooled @ w["head.weight"].T + w["head.bias"]
        return logits if self.readout is None else (logits @ self.readout)[:, None]


def contributions(
    module: nn.Module,
    respond: Callable[[torch.Tensor], torch.Tensor],
    placed: torch.Tensor,
    logits: torch.Tensor,
) -> torch.Tensor:
    """Return what each token `(t,)` contributes to `respond` at the text minus that at the reference, by DeepLIFT.

    Parameters
    ----------
    module
        The classifier.
    respond
        From logits `(b, k)` to responses `(b,)`, differentiable.
    placed, logits
        Embeddings `(2, t, d)` of text and reference, and the classifier's own logits `(2, k)` for them.

    Raises
    ------
    CapabilityError
        If the classifier is none of the library's LSTMs.
    MissingDependencyError
        If captum is not installed.
    ModelError
        If the unrolled network does not give the same logits.
    """
    if not isinstance(module, LSTMClassifier):
        raise CapabilityError(
            f"deep-shap has rules for the library's LSTM classifiers only, got {type(module).__name__}; use 'kernel-shap'"
        )
    vectors = placed.double()
    unrolled = UnrolledLSTM(module, vectors.shape[1])
    with torch.no_grad():
        own = unrolled(vectors)
    apart = float((own - logits.double()).abs().max())
    if apart > _ROUNDING * max(1.0, float(logits.abs().max())):
        raise ModelError(
            f"the unrolled LSTM's logits are {apart:.2g} off, expected those of the model; is it in half precision?"
        )
    unrolled.readout = _mean_slope(respond, own)
    return _by_captum(unrolled, vectors).sum(dim=1)


def _mean_slope(respond: Callable[[torch.Tensor], torch.Tensor], logits: torch.Tensor) -> torch.Tensor:
    """Return the response's gradient `(k,)` averaged over the line between two logit vectors `(2, k)`.

    What the midpoint rule leaves of the difference of the responses is added along the line, so that the sum is exact.
    """
    share = ((torch.arange(_POINTS, device=logits.device, dtype=torch.float64) + 0.5) / _POINTS)[:, None]
    points = (share * logits[0] + (1 - share) * logits[1]).requires_grad_(True)
    (slopes,) = torch.autograd.grad(respond(points).sum(), points)
    mean, way = slopes.mean(dim=0), logits[0] - logits[1]
    with torch.no_grad():
        ends = respond(logits)
    missing = ends[0] - ends[1] - mean @ way
    return mean + missing * way / (way @ way).clamp(min=torch.finfo(way.dtype).tiny)


def _by_captum(network: nn.Module, vectors: torch.Tensor) -> torch.Tensor:
    """Return captum's DeepLIFT contributions `(t, d)` of the first of two inputs `(2, t, d)`; the second is the reference."""
    try:
        from captum.attr import DeepLift
    except ImportError as error:
        raise MissingDependencyError(
            "deep-shap needs captum; install it with: pip install 'mase-xai[deep-shap]'"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that hooks are set, and removed again
        found: torch.Tensor = DeepLift(network).attribute(vectors[:1], baselines=vectors[1:], target=0)
    return found[0].detach()
