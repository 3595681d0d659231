"""Torch modules with a twist, and an explanation of one."""

import torch

import mase
from mase.models import TorchModule
from mase.testing import whitespace_ids

TEXT = "this is a rather good film , though slow"


def explain(module, n_samples=60, **options):
    model = TorchModule(module, tokenize=whitespace_ids, **options)
    return mase.Explainer(model, n_samples=n_samples, evidence=0)(TEXT), model


class Around(torch.nn.Module):
    """Positions and a scale after the embedding: written in place or not, the function is the same."""

    def __init__(self, *, in_place):
        super().__init__()
        torch.manual_seed(3)
        self.words = torch.nn.Embedding(500, 6)
        self.position = torch.nn.Parameter(torch.randn(40, 6))
        self.head = torch.nn.Linear(6, 2)
        self.in_place = in_place

    def forward(self, ids):
        x = self.words(ids)
        if self.in_place:
            x += self.position[: ids.shape[1]]
            x *= 3
        else:
            x = (x + self.position[: ids.shape[1]]) * 3
        return self.head(torch.tanh(x).mean(dim=1))
