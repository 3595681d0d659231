"""The operation that computes a tensor, by the name that torch's autograd gives it.

torch does not say whether numbers in [0, 1] are probabilities or logits. The operation that computed them does: a
sigmoid gives probabilities, and a linear layer gives logits. The only record of the operation is the name of `grad_fn`.
These names are not a stable interface of torch, so only this module knows them. An unknown name does no harm: if the
scores are ambiguous, the user is asked to pass `outputs`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["is_linear", "is_sigmoid", "last_operation"]

_LINEAR = ("Addmm", "Mm", "Addmv", "Mv", "Bmm", "Linear")
_SIGMOID = "Sigmoid"
# Operations that change the shape or the type of a tensor and keep its values.
_SHAPING = (
    "View", "UnsafeView", "Squeeze", "Unsqueeze", "Select", "Slice", "Reshape", "ToCopy", "Alias", "Permute",
    "Transpose",
)  # fmt: skip


def last_operation(tensor: "torch.Tensor") -> str:
    """Return the name of the operation that computed the values of a tensor, "" if autograd did not record it."""
    operation = tensor.grad_fn
    while operation is not None and operation.name().startswith(_SHAPING):
        source = operation.next_functions[0][0]
        if source is None:
            break
        operation = source
    return "" if operation is None else operation.name()


def is_linear(operation: str) -> bool:
    """Return whether this is the name of a matrix product, as in a linear layer."""
    return operation.startswith(_LINEAR)


def is_sigmoid(operation: str) -> bool:
    """Return whether this is the name of a sigmoid."""
    return operation.startswith(_SIGMOID)
