import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.language.causal_models import SIZE, byte_tokenizer, causal_model, one_by_one

from mase.errors import CapabilityError, NonFiniteError
from mase.models.language.causal import CausalLM


@pytest.mark.parametrize("is_decoder", [False, True])
def test_a_model_that_reads_ahead_is_refused(is_decoder):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    module = transformers.BertLMHeadModel(transformers.BertConfig(vocab_size=SIZE, is_decoder=is_decoder, **sizes))
    for weights in module.parameters():
        torch.nn.init.normal_(weights, 0, 0.4)
    model = CausalLM(module, byte_tokenizer())
    if is_decoder:
        assert model.log_probabilities(["the sky"], [model.continuation(" is")])[0].shape == (1, 1)
    else:
        with pytest.raises(CapabilityError, match="is_decoder"):
            model.log_probabilities(["the sky"], [model.continuation(" is")])


def with_logit(value):
    """Return a model that has the same logit for one token, wherever it stands."""
    module = causal_model()
    module.lm_head.bias = torch.nn.Parameter(torch.zeros(SIZE))
    with torch.no_grad():
        module.lm_head.bias[7] = value
    return CausalLM(module, byte_tokenizer())


def test_a_token_that_is_never_written_is_no_other_answer():
    model = with_logit(float("-inf"))
    answer = model.continuation(" is")
    found = model.log_probabilities(["the sky"], [answer])[0][0]
    np.testing.assert_allclose(
        found, one_by_one(model.module, model.tokenizer.prompt("the sky"), answer.ids), atol=1e-4
    )


def test_what_is_no_number_is_not_taken_for_reading_ahead():
    model = with_logit(float("nan"))
    with pytest.raises(NonFiniteError, match="NaN"):
        model.generate("the sky", 3)
