"""Tests of `mase.options`."""

import importlib
import inspect
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import mase
from mase.designs.adaptive import Focused
from mase.errors import MaseError, OptionError, UnknownNameError
from mase.options import FORMER, ExplainerOptions, Stopping, Windows
from mase.solve.oracle import QueryOptions
from mase.testing import AdditiveClassifier

TEXT = "a good film"


def explainer(**options):
    """Return an explainer; options of earlier releases have to warn."""
    former = [name for name, value in options.items() if name in FORMER and value is not None]
    with pytest.warns(DeprecationWarning, match="^the option .* is deprecated since 0.3") if former else nullcontext():
        return mase.Explainer(AdditiveClassifier({"good": 0.25}), n_samples=20, **options)


def test_fields_of_query_and_stopping_have_keywords_of_their_own():
    short = explainer(batch_size=4, tolerance=0.3, stable_top=2, granularity="token")
    values = explainer(query=QueryOptions(batch_size=4), stopping=Stopping(tolerance=0.3, stable_top=2), units="token")
    assert short.settings == values.settings
    assert (short.query, short.stopping, short.splitter) == (values.query, values.stopping, values.splitter)


FORMER_AND_PRESENT = [
    ({"sigma": 0.3, "method": "mase-nlgp"}, {"method": "mase-nlgp+sigma=0.3"}),
    ({"design": "focused(rounds=3)"}, {"method": "mase+design=focused(rounds=3)"}),
    ({"estimator": "ridge"}, {"method": "mase+estimator=ridge"}),
    ({"space": "token-mask"}, {"method": "mase+space=token-mask"}),
    ({"center": 0.5, "method": "mase-paper"}, {"method": "mase-paper+center=0.5"}),
    ({"query": QueryOptions(batch_size=4)}, {"batch_size": 4}),
    ({"tolerance": 0.3}, {"stopping": Stopping(tolerance=0.3)}),
    ({"stable_top": 2}, {"stopping": Stopping(stable_top=2)}),
    ({"stable_top": 2, "confidence": 0.9}, {"stopping": Stopping(stable_top=2, confidence=0.9)}),
    ({"granularity": "token"}, {"units": "token"}),
    ({"long": "windows"}, {"windows": True}),
    ({"long": "windows", "overlap": 0.5}, {"windows": Windows(overlap=0.5)}),
    ({"long": "windows", "pooling": "max"}, {"windows": Windows(pooling="max")}),
]


@pytest.mark.parametrize(("former", "present"), FORMER_AND_PRESENT, ids=str)
def test_options_of_earlier_releases_do_what_replaces_them_and_warn(lstm_model, former, present):
    with pytest.warns(
        DeprecationWarning,
        match="the option .* is deprecated since 0.3 and will be removed in 0.5; use ",
    ) as caught:
        explainer = mase.Explainer(lstm_model, n_samples=40, **former)
    assert f"the option {next(iter(former))} " in str(caught[0].message)
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) == len(former.keys() & FORMER.keys())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = mase.Explainer(lstm_model, n_samples=40, **present)
    assert explainer.settings == again.settings
    assert explainer(TEXT).scores.tolist() == again(TEXT).scores.tolist()


def test_the_warning_is_at_the_line_of_the_user(tmp_path):
    """Python shows a DeprecationWarning only where it comes from the user's own code."""
    pytest.importorskip("pyarrow")
    model = AdditiveClassifier({"good": 0.25})
    calls = [
        lambda: mase.explain(TEXT, model, n_samples=20, estimator="ridge"),
        lambda: mase.run([TEXT], tmp_path / "run", model=model, engine="here", n_samples=20, estimator="ridge"),
    ]
    for call in calls:
        with pytest.warns(DeprecationWarning, match="the option estimator") as caught:
            call()
        assert {str(warning.filename) for warning in caught if warning.category is DeprecationWarning} == {__file__}


def test_every_option_of_earlier_releases_is_tried():
    assert {name for former, _ in FORMER_AND_PRESENT for name in former} == {*FORMER, "method"}


def test_the_explainer_has_seventeen_parameters():
    parameters = inspect.signature(mase.Explainer).parameters.values()
    assert len(parameters) == 17
    assert {parameter.kind for parameter in parameters}.isdisjoint({inspect.Parameter.VAR_KEYWORD})
    assert {*ExplainerOptions.__annotations__} == {p.name for p in parameters} - {"model", "tokenizer", "show_progress"}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Attributions", "mase.attribution"), ("Method", "mase.methods"), ("Progress", "mase.progress"),
        ("QueryOptions", "mase.solve.oracle"), ("Stopping", "mase.options"),
    ],
)  # fmt: skip
def test_names_of_earlier_releases_warn(name, place):
    with pytest.warns(
        DeprecationWarning, match=f"mase.{name} is deprecated since 0.3 and will be removed in 0.5; use "
    ):
        value = getattr(mase, name)
    assert value is getattr(importlib.import_module(place), name)


def test_the_listener_of_earlier_releases_warns():
    calls = []
    with pytest.warns(
        DeprecationWarning, match="follow is deprecated since 0.3 and will be removed in 0.5; use explainer"
    ):
        attribution = explainer().follow(TEXT, calls.append)
    with pytest.warns(
        DeprecationWarning, match="listener is deprecated since 0.3 and will be removed in 0.5; use on_progress"
    ):
        again = mase.explain(TEXT, AdditiveClassifier({"good": 0.25}), n_samples=20, listener=calls.append)
    assert len(calls) >= 2
    assert attribution.scores.tolist() == again.scores.tolist()


def test_none_is_not_given():
    stopping = Stopping(tolerance=0.3)
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
            Stopping(confidence=wrong)


def test_a_confidence_that_nothing_would_use_is_refused():
    for more in ({}, {"tolerance": 0.1}):
        with pytest.raises(OptionError, match="stable_top"):
            explainer(confidence=0.9, **more)
    assert explainer(confidence=0.9, stopping=Stopping(stable_top=1)).stopping.confidence == 0.9


def test_a_misspelt_option_is_told_the_nearest_one():
    for wrong, right in (("n_sample", "n_samples"), ("sigmaa", "sigma"), ("toleranc", "tolerance")):
        with pytest.raises(UnknownNameError, match=f"did you mean '{right}'"):
            explainer(**{wrong: 1})


def test_hints_know_every_option():
    with pytest.raises(UnknownNameError) as caught:
        mase.explain(TEXT, "lstm-imdb", nothing_like_it=1)
    for name, parameter in inspect.signature(mase.explain).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name not in ("target", "against", "on_progress"):
            assert name in str(caught.value)
    assert all(name in str(caught.value) for name in (*FORMER, *ExplainerOptions.__annotations__))


def test_all_that_decides_the_scores_is_in_the_result():
    results = [
        explainer(stopping=Stopping(stable_top=1, confidence=level))(TEXT).method["confidence"] for level in (0.6, 0.9)
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
