"""Tests of `mase.options`."""

import inspect

import numpy as np
import pytest

import mase
from mase.designs.adaptive import Focused
from mase.errors import MaseError, OptionError, UnknownNameError
from mase.options import MoreOptions
from mase.testing import AdditiveClassifier

TEXT = "a good film"


def explainer(**options):
    return mase.Explainer(AdditiveClassifier({"good": 0.25}), n_samples=20, **options)


def test_fields_of_query_and_stopping_have_keywords_of_their_own():
    short = explainer(batch_size=4, tolerance=0.3, stable_top=2, granularity="token")
    values = explainer(
        query=mase.QueryOptions(batch_size=4), stopping=mase.Stopping(tolerance=0.3, stable_top=2), units="token"
    )
    assert short.settings == values.settings
    assert (short.query, short.stopping, short.splitter) == (values.query, values.stopping, values.splitter)


def test_none_is_not_given():
    stopping = mase.Stopping(tolerance=0.3)
    assert explainer(stopping=stopping, tolerance=None, granularity=None, batch_size=None).stopping == stopping


@pytest.mark.parametrize(
    "options",
    [
        {"units": "token", "granularity": "word"},
        {"units": 3},
        {"units": "re:("},
        {"granularity": None, "units": None},
        {"query": "bfloat16"},
        {"stopping": 0.1},
        {"design": 3},
        {"design": Focused},
        {"estimator": 3},
        {"space": 3},
        {"stable_top": True},
    ],
)
def test_options_of_another_kind_are_typed_errors(options):
    with pytest.raises(OptionError, match="expected"):
        explainer(**options)


@pytest.mark.parametrize("name", ["units", "granularity"])
def test_a_unit_that_does_not_exist_is_told_the_nearest_one(name):
    with pytest.raises(UnknownNameError, match="did you mean 'sentence'"):
        explainer(**{name: "sentences"})


def test_confidence_of_another_kind_is_a_typed_error():
    for wrong in ("x", None, 1.0, 0.2):
        with pytest.raises(OptionError, match="confidence is"):
            mase.Stopping(confidence=wrong)


def test_a_confidence_that_nothing_would_use_is_refused():
    for more in ({}, {"tolerance": 0.1}):
        with pytest.raises(OptionError, match="stable_top"):
            explainer(confidence=0.9, **more)
    assert explainer(confidence=0.9, stopping=mase.Stopping(stable_top=1)).stopping.confidence == 0.9


def test_a_misspelt_option_is_told_the_nearest_one():
    for wrong, right in (("n_sample", "n_samples"), ("sigmaa", "sigma"), ("toleranc", "tolerance")):
        with pytest.raises(UnknownNameError, match=f"did you mean '{right}'"):
            explainer(**{wrong: 1})


def test_hints_know_every_option():
    with pytest.raises(UnknownNameError) as caught:
        mase.explain(TEXT, "lstm-imdb", nothing_like_it=1)
    for name, parameter in inspect.signature(mase.explain).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name not in ("target", "against", "listener"):
            assert name in str(caught.value)
    assert all(name in str(caught.value) for name in MoreOptions.__annotations__)


def test_all_that_decides_the_scores_is_in_the_result():
    results = [
        explainer(stopping=mase.Stopping(stable_top=1, confidence=level))(TEXT).method["confidence"]
        for level in (0.6, 0.9)
    ]
    assert results == [0.6, 0.9]


def test_a_result_that_was_not_sampled_is_exact():
    assert explainer(method="occlusion")(TEXT).responses[0].exact
    assert not explainer()("a good film with a bad end").responses[0].exact


class Incomparable:
    """A value whose comparisons have no single answer, and that has no hash."""

    __hash__ = None

    def __eq__(self, other):
        raise ValueError("no single answer")


ODD = (np.zeros(3), np.array([]), {"a": 1}, ["probability"], {1}, b"mask", Incomparable())
NAMED = ("method", "units", "link", "reference", "design", "estimator", "space", "precision", "long", "granularity")


@pytest.mark.parametrize("option", NAMED)
@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_is_no_name_is_an_error_that_names_the_option(option, value):
    with pytest.raises(MaseError, match=rf"\b({option}|unit)"):
        explainer(**{option: value})


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_is_no_name_is_an_error_of_the_other_calls(value, tmp_path):
    model = AdditiveClassifier({"good": 0.25})
    for option in ("target", "against"):
        with pytest.raises(MaseError, match=rf"^(unknown )?{option}\b"):
            mase.explain(TEXT, model, n_samples=20, **{option: value})
    with pytest.raises(MaseError, match=r"\bmasking operator\b"):
        mase.evaluate(model, [TEXT], operator=value)
    for option in ("engine", "text_column", "id_column"):
        with pytest.raises(MaseError, match=rf"\b{option}\b|no column"):
            mase.run([{"text": TEXT}], tmp_path / "run", model=model, **{option: value})
    with pytest.raises(OptionError, match="pooling"):
        explainer(long="windows", pooling=value)
    with pytest.raises(OptionError, match="outputs"):
        mase.models.Callable(len, outputs=value)
    with pytest.raises(MaseError, match="name"):
        mase.models.load(value)
    assert value not in mase.METHODS
