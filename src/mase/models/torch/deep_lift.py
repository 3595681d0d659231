"""DeepLIFT for the bundled LSTM classifiers, by captum: the network unrolled into layers that captum has rules for.

The rules:

- The LSTM is unrolled over the text into one module per nonlinearity and step, because captum's rules need modules that
  are used only once. Sigmoid and tanh use captum's Rescale rule, and the maximum over time uses its max-pooling rule.
  Linear maps need no rule.
- The products a b of the gates, three per step, have no rule in captum. The plain gradient (b, a) at the text would
  break the sum of the contributions. Their multipliers here are ((b + b0) / 2, (a + a0) / 2), where 0 marks the value
  at the reference. These are the Shapley values of a product, the rule of shap for TensorFlow, and the result of
  Rescale for ((a+b)^2 - a^2 - b^2) / 2.
- The response is a function of the k logits. Its multipliers are the mean of its gradient along the straight line
  between the two logit vectors. For two classes, or one logit, this equals Rescale.
"""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from mase.errors import CapabilityError, MissingDependencyError, ModelError
from mase.models.bundled.lstm import LSTMClassifier

# Points of the midpoint rule on the line between the logits. They are many, because the margin has kinks there.
_POINTS = 4096
# The unrolled network is computed in float64, the original in its own precision, so logits may differ by rounding.
_ROUNDING = 1e-3


class _Product(torch.autograd.Function):
    """The product a b for a batch whose second half is the reference, with the multipliers as its derivatives."""

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
        # A copy, because captum replaces the complete gradient of a module's input, which the next step uses too.
        return _Product.apply(leave, self.tanh_of_cell(cell.clone())), cell  # type: ignore[no-untyped-call]


class UnrolledLSTM(nn.Module):
    """An `LSTMClassifier` for texts of t tokens, in float64, from embeddings `(b, t, d)` to logits `(b, k)`.

    If `readout` `(k,)` is set, it returns the weighted sum of the logits instead, `(b, 1)`.
    """

    def __init__(self, original: LSTMClassifier, t: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(_Step() for _ in range(t))
        self.pooling = nn.MaxPool1d(t) if original.pool == "max" else None
        self.weights = {name: value.detach().double() for name, value in original.state_dict().items()}
        self.readout: torch.Tensor | None = None

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return logits `(b, k)`, or their weighted sum `(b, 1)`."""
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
    """Return the contribution `(t,)` of each token to the difference of responses, text minus reference, by DeepLIFT.

    Parameters
    ----------
    module
        The classifier.
    respond
        Differentiable function from logits `(b, k)` to responses `(b,)`.
    placed, logits
        Embeddings `(2, t, d)` of text and reference, and the logits `(2, k)` of the original classifier for them.
    """
    if not isinstance(module, LSTMClassifier):
        raise CapabilityError(
            f"deep-shap got a {type(module).__name__}, expected an LSTM classifier of this library; use 'kernel-shap'"
        )
    vectors = placed.double()
    unrolled = UnrolledLSTM(module, vectors.shape[1])
    with torch.no_grad():
        recomputed = unrolled(vectors)
    difference = float((recomputed - logits.double()).abs().max())
    if difference > _ROUNDING * max(1.0, float(logits.abs().max())):
        raise ModelError(
            f"the logits of the unrolled LSTM differ by {difference:.2g}, expected those of the model; "
            "run the model in float32"
        )
    unrolled.readout = _mean_slope(respond, recomputed)
    return _by_captum(unrolled, vectors).sum(dim=1)


def _mean_slope(respond: Callable[[torch.Tensor], torch.Tensor], logits: torch.Tensor) -> torch.Tensor:
    """Return the response's gradient `(k,)` averaged over the line between two logit vectors `(2, k)`.

    The error of the midpoint rule is corrected along the line, so that the contributions sum exactly to the difference
    of the responses.
    """
    share = ((torch.arange(_POINTS, device=logits.device, dtype=torch.float64) + 0.5) / _POINTS)[:, None]
    points = (share * logits[0] + (1 - share) * logits[1]).requires_grad_(True)
    (slopes,) = torch.autograd.grad(respond(points).sum(), points)
    mean, difference = slopes.mean(dim=0), logits[0] - logits[1]
    with torch.no_grad():
        ends = respond(logits)
    error = ends[0] - ends[1] - mean @ difference
    squared_length = (difference @ difference).clamp(min=torch.finfo(difference.dtype).tiny)
    return mean + error * difference / squared_length


def _by_captum(network: nn.Module, vectors: torch.Tensor) -> torch.Tensor:
    """Return captum's DeepLIFT contributions `(t, d)` for vectors `(2, t, d)`: the text, then the reference."""
    try:
        from captum.attr import DeepLift
    except ImportError as error:
        raise MissingDependencyError(
            "deep-shap needs captum; install it with: pip install 'mase-xai[deep-shap]'"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # captum warns that it sets hooks, which it removes again
        attributions: torch.Tensor = DeepLift(network).attribute(vectors[:1], baselines=vectors[1:], target=0)
    return attributions[0].detach()
