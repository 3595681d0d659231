"""Tests of `mase.defaults`, and of `n_samples="auto"` wherever it is taken."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.defaults import SAMPLES_RULE, check_n_samples
from mase.errors import OptionError
from mase.methods import resolve
from mase.options import Stopping
from mase.pipeline import measure
from mase.testing import smooth
from mase_serve.worker import Explain, Request, Settings, decode, encode

LONG = "the cast is superb but the plot is dull and that is all there is to say about it"


def judge(texts):
    odds = [1.5 * ("superb" in text) - ("dull" in text) for text in texts]
    p = 1 / (1 + np.exp(-np.array(odds)))
    return np.stack([1 - p, p], axis=1)


def test_longer_texts_get_more_samples_up_to_a_limit():
    numbers = [SAMPLES_RULE.samples(p) for p in range(1, 3000)]
    assert numbers == sorted(numbers)
    assert numbers[-1] == SAMPLES_RULE.most
    assert all(
        n >= 2 * (p + 3) for p, n in enumerate(numbers, start=1) if n < SAMPLES_RULE.most
    )  # no note of few samples


@pytest.mark.parametrize(
    "value", [1, 0, -3, True, 2.0, "many", "AUTO", None, np.array([4, 5]), pytest.param(10**400, id="huge")]
)
def test_other_values_are_refused(value):
    with pytest.raises(OptionError, match="n_samples"):
        check_n_samples(value)


def test_numbers_of_numpy_are_numbers():
    assert check_n_samples(np.int64(7)) == 7
    assert type(replace(resolve("lime"), n_samples=np.int32(9)).budget(3)) is int


def test_the_default_methods_alone_follow_the_number_of_units():
    following = {name for name, method in mase.METHODS.items() if method.n_samples == "auto"}
    assert following == {"mase", "mase-rationale", "mase-cite", "mase-chat"}


def test_a_method_may_have_a_rule_of_its_own():
    method = mase.METHODS["mase-cite"]
    assert [method.budget(n_units) for n_units in (5, 60, 100, 1000)] == [37, 92, 128, 128]
    assert method.budget(5, stops_early=True) == 128


@pytest.mark.parametrize("method", ["mase", "lime"])
def test_a_text_gets_the_samples_of_its_number_of_units(method):
    explainer = mase.Explainer(judge, method=method, n_samples="auto")
    assert explainer.settings["n_samples"] == "auto"
    found = explainer(LONG)
    expected = SAMPLES_RULE.samples(len(found.units))
    assert found.method["n_samples"] == expected
    plain = mase.Explainer(judge, method=method, n_samples=expected)(LONG)
    assert plain == found
    assert found.fit.n_queries <= expected + 2


def test_a_probe_is_measured_with_the_samples_of_its_number_of_coordinates():
    solution = measure(smooth(30), resolve("mase", link="logit"), 0, np.random.default_rng(0))
    assert solution.problem.n == SAMPLES_RULE.samples(30)


def test_evidence_is_part_of_the_samples():
    found = mase.Explainer(judge, evidence=5)(LONG)
    assert found.evidence is not None
    assert found.fit.n_queries <= SAMPLES_RULE.samples(len(found.units)) + 4


def test_a_stopping_rule_may_take_as_many_as_the_largest_budget():
    rng = np.random.default_rng(0)
    method = resolve("mase", link="logit", estimator="least-squares")
    precise = measure(smooth(30), method, 0, rng, stopping=Stopping(tolerance=1e-6))
    assert precise.problem.n == SAMPLES_RULE.most


def test_who_follows_is_told_the_number_of_the_text():
    for text, expected in ((LONG, SAMPLES_RULE.samples(len(LONG.split()))), ("a superb film", 2**3)):
        seen = []
        found = mase.Explainer(judge)(text, on_progress=seen.append)
        assert {progress.n_samples for progress in seen} == {expected}
        assert seen[-1].n_asked == found.fit.n_queries <= expected + 12


def test_the_command_takes_auto_and_names_the_option(tmp_path):
    (tmp_path / "m.py").write_text("def f(texts):\n    return [[0.4, 0.6] for _ in texts]\n")
    arguments = ["explain", "a good film", "-m", f"{tmp_path / 'm.py'}:f", "--n-samples"]
    found = CliRunner().invoke(main, [*arguments, "auto"])
    assert found.exit_code == 0, found.output
    wrong = CliRunner().invoke(main, [*arguments, "1"])
    assert wrong.exit_code == 2
    assert "--n-samples" in wrong.output


def test_a_page_may_ask_for_auto():
    asked = Request(1, Explain("a film", None, Settings(n_samples="auto")))
    assert decode(Request)(encode(asked)[4:]) == asked
