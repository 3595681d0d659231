"""The explained response, differentiable in torch: the links of `mase.links` computed with the functions of torch."""

import torch

from mase.links import FLOOR, Contrast, Output, function_of

__all__ = ["response"]


class _Torch:
    """The functions that links need, in torch; see `mase.links.protocol.Functions`."""

    def log(self, probabilities: torch.Tensor) -> torch.Tensor:
        return torch.log(probabilities.clamp(min=FLOOR))

    def expm1(self, exponents: torch.Tensor) -> torch.Tensor:
        return torch.expm1(exponents)

    def sigmoid(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(logits)

    def log_sigmoid(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.logsigmoid(logits)

    def softmax(self, logits: torch.Tensor) -> torch.Tensor:
        return self.log_softmax(logits).exp()

    def log_softmax(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(logits, dim=1)

    def best_other(self, scores: torch.Tensor, target: int) -> torch.Tensor:
        return torch.cat([scores[:, :target], scores[:, target + 1 :]], dim=1).max(dim=1).values


def response(table: torch.Tensor, output: Output, link: str | Contrast, target: int) -> torch.Tensor:
    """Return the response `(b,)` to scores `(b, k)`, differentiable, in float64.

    Raises
    ------
    UnknownNameError
        If the link is unknown.
    CapabilityError
        If the scores are values, and the link is another one than ``value``.
    """
    values: torch.Tensor = function_of(link, output).respond(table.double(), output, target, _Torch())
    return values
