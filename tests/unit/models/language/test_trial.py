import pytest
import torch
import transformers
from tests.unit.models.language.causal_models import SIZE, byte_tokenizer

from mase.errors import CapabilityError
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
