"""Tests of `mase.models.entry`."""

import pytest
import torch
import transformers
from tests.unit.models.tiny import family

import mase
from mase.errors import CapabilityError
from mase.models import TorchModule
from mase.testing import Wrapped, whitespace_ids


class Plain(torch.nn.Module):
    """A module that torch.jit can read."""

    def __init__(self):
        super().__init__()
        self.words, self.head = torch.nn.Embedding(500, 4), torch.nn.Linear(4, 2)

    def forward(self, ids):
        return self.head(self.words(ids).mean(dim=1))


@pytest.mark.parametrize("name", [None, "words"])
@pytest.mark.parametrize(
    "made", [torch.jit.script, lambda module: torch.jit.trace(module, torch.ones(2, 3, dtype=int))]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_scripted_module_has_no_layer_to_perturb(made, name):
    with pytest.raises(CapabilityError, match=r"torch\.jit.*before scripting, .*mase\.models\.Callable"):
        TorchModule(made(Plain()), tokenize=whitespace_ids, embedding=name)


def test_a_layer_that_there_is_not_is_an_error():
    with pytest.raises(CapabilityError, match=r"no layer 'embed', expected one of: inner, inner\.words"):
        TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids, embedding="embed")


SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (transformers.ViTForImageClassification, transformers.ViTConfig(image_size=32, patch_size=16, **SIZES)),
        (transformers.ASTForAudioClassification, transformers.ASTConfig(**SIZES)),
    ],
)
def test_a_model_of_images_or_sounds_is_refused(kind, config):
    _, tokenizer = family("bert")
    with pytest.raises(CapabilityError, match=r"reads (pixel|input)_values, expected a model that reads texts"):
        mase.Explainer(kind(config), tokenizer)
