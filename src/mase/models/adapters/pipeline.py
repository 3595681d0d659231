"""The adapter for pipelines of transformers: the model inside is explained, with what the pipeline does around it."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.errors import CapabilityError, OptionError
from mase.models.protocol import Model
from mase.models.tokenizing import check_no_tokenizer

__all__ = ["PipelineAdapter"]

# Arguments of the tokenizer that change nothing for a single text or pair.
_WITHOUT_EFFECT = ("padding", "pad_to_multiple_of", "return_token_type_ids", "return_attention_mask", "verbose")
_WHOLE = (False, "do_not_truncate")
_LONGEST_FIRST = (True, "longest_first")


@dataclass(frozen=True, slots=True)
class PipelineAdapter:
    """Accept pipelines for text classification and zero-shot classification."""

    understands: ClassVar[str] = "a pipeline of transformers for text classification or zero-shot classification"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a pipeline of transformers."""
        pipelines = sys.modules.get("transformers.pipelines")
        return pipelines is not None and isinstance(model, pipelines.Pipeline)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model inside of the pipeline, whose predictions are those of the pipeline.

        Raises
        ------
        CapabilityError
            If the pipeline does something else than classify texts.
        OptionError
            If it has arguments that cannot be followed, or a tokenizer is given as well.
        """
        check_no_tokenizer("a pipeline", tokenizer)
        pipelines = sys.modules["transformers.pipelines"]
        if isinstance(model, pipelines.ZeroShotClassificationPipeline):
            return _zero_shot(model)
        if isinstance(model, pipelines.TextClassificationPipeline):
            return _classifier(model, name)
        raise CapabilityError(
            f"{type(model).__name__} does not classify texts, expected a pipeline for text-classification or "
            "zero-shot-classification; of any other, pass a function from texts to probabilities (n, k)"
        )


def _classifier(pipe: Any, name: str | None) -> Model:
    """Return the classifier; a pipeline says only in private attributes what it was given."""
    from mase.models.transformers import HuggingFace

    given = dict(pipe._preprocess_params)
    truncation, longest = given.pop("truncation", None), given.pop("max_length", None)
    unknown = sorted(given.keys() - set(_WITHOUT_EFFECT))
    if truncation is None:  # as transformers reads it: a length alone cuts texts, unless it is that of the padding
        truncation = longest is not None and given.get("padding", False) is False
    if unknown or truncation not in (*_WHOLE, *_LONGEST_FIRST):
        what = f"truncation={truncation!r}" if not unknown else f"{unknown[0]}={given[unknown[0]]!r:.60}"
        raise OptionError(
            f"the pipeline passes {what} to its tokenizer, expected only truncation=True, max_length and padding; pass "
            "a function from texts to probabilities (n, k)"
        )
    return HuggingFace(
        pipe.model,
        pipe.tokenizer,
        max_length=None if truncation in _WHOLE else longest,
        name=name,
        **_head(pipe),
    )


def _head(pipe: Any) -> dict[str, Any]:
    """Return the options for what the pipeline applies to the logits."""
    chosen, config = pipe._postprocess_params.get("function_to_apply"), pipe.model.config
    if chosen is not None:
        function = chosen.value
    elif config.problem_type == "regression":
        function = "none"
    else:
        separate = config.problem_type == "multi_label_classification" or config.num_labels == 1
        function = "sigmoid" if separate else "softmax"
    if function == "softmax" and config.num_labels == 1:
        raise OptionError("the pipeline applies a softmax to one label, which is always 1, expected 'sigmoid'")
    if function == "none":  # logits as they are: the largest is the prediction, unless they are no class scores
        return {"outputs": "values" if config.problem_type == "regression" or config.num_labels == 1 else "scores"}
    return {"outputs": "logits", "multilabel": function == "sigmoid"}


def _zero_shot(pipe: Any) -> Model:
    from mase.models.zero_shot import ZeroShot

    given, after = pipe._preprocess_params, pipe._postprocess_params
    if "candidate_labels" not in given:
        raise OptionError(
            "the pipeline has no candidate labels, expected pipeline('zero-shot-classification', ..., "
            "candidate_labels=[...]), or mase.models.ZeroShot(pipe.model, pipe.tokenizer, labels=[...])"
        )
    more = {"template": given["hypothesis_template"]} if "hypothesis_template" in given else {}
    multilabel = after.get("multi_label", False)
    return ZeroShot(pipe.model, pipe.tokenizer, labels=given["candidate_labels"], multilabel=multilabel, **more)
