"""Tests of `mase.explainer`."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

import mase
from mase.attribution import Note
from mase.attribution.json import dumps, loads
from mase.errors import EmptyTextError, InvalidTextError, OptionError, ShapeError, UnknownNameError
from mase.methods import resolve
from mase.metrics.evaluation import Evaluator
from mase.models import Callable, TorchModule
from mase.options import Stopping
from mase.render.marks import error95
from mase.testing import LogisticClassifier, SmallLSTM, SmallMLP, whitespace_ids

TEXTS = ["this is a rather good film", "slow and dull , yet beautiful in places", "good good good", "fine"]


@pytest.mark.slow
def test_same_seed_same_bits_whatever_the_order(lstm_model):
    explainer = mase.Explainer(lstm_model, n_samples=80, seed=7)
    forth, back = explainer(TEXTS), explainer(TEXTS[::-1])[::-1]
    assert forth == back
    assert [a.scores.tobytes() for a in forth] == [explainer(text).scores.tobytes() for text in TEXTS]
    other = mase.Explainer(lstm_model, n_samples=80, seed=8)(TEXTS[1])
    assert not np.array_equal(other.scores, forth[1].scores)


@pytest.mark.parametrize("method", list(mase.METHODS))
@pytest.mark.slow
def test_batch_size_changes_scores_by_less_than_1e_5(lstm_model, method):
    model = "lstm-imdb" if method == "deep-shap" else lstm_model  # its rules are for the library's own LSTMs
    one, many = (mase.Explainer(model, method=method, n_samples=80, batch_size=b)(TEXTS[1]).scores for b in (3, 80))
    assert np.abs(one - many).max() < 1e-5 * max(1, np.abs(one).max())
    assert np.abs(one).max() > 0


def test_stream_keeps_what_came_before_an_error(lstm_model):
    explainer, seen = mase.Explainer(lstm_model, n_samples=40), []
    with pytest.raises(EmptyTextError) as caught:
        seen.extend(explainer.stream(iter([TEXTS[0], TEXTS[1], " ", TEXTS[2]])))
    assert [a.text for a in seen] == TEXTS[:2]
    assert caught.value.__notes__ == ["at text number 2, counted from 0"]


@pytest.mark.parametrize("text", ["good film", b"good film"])
def test_a_stream_of_one_text_is_an_error_at_once(lstm_model, text):
    with pytest.raises(InvalidTextError):
        mase.Explainer(lstm_model).stream(text)


def test_progress_goes_to_stderr(lstm_model, capsys):
    explainer = mase.Explainer(lstm_model, n_samples=40, show_progress=True)
    assert explainer(TEXTS) == mase.Explainer(lstm_model, n_samples=40)(TEXTS)
    out, err = capsys.readouterr()
    assert out == ""
    assert "explaining" in err


def test_a_different_text_gets_a_different_design(lstm_model):
    """Shown by methods whose scores, or rows, depend on nothing but the random numbers."""
    texts = ("one good film", "film good one")
    scores = [mase.Explainer(lstm_model, method="random")(text).scores.tolist() for text in texts]
    assert scores[0] != scores[1]
    conditions = [mase.Explainer(lstm_model, method="mase-nlgp", n_samples=40)(text).fit.condition for text in texts]
    assert conditions[0] != pytest.approx(conditions[1], rel=1e-6)


def test_targets(lstm_model):
    explainer = mase.Explainer(lstm_model, method="mase-nlgp", n_samples=80)
    default = explainer(TEXTS[0])
    assert default.target == default.prediction.label
    by_label, by_index, by_digit = (explainer(TEXTS[0], target=target) for target in ("pos", 1, "1"))
    assert by_label == by_index == by_digit
    other = explainer(TEXTS[0], target="neg")
    assert other.scores == pytest.approx(-by_label.scores, abs=1e-6)
    for target, error in (
        ("positive", UnknownNameError),
        (2, OptionError),
        (-1, OptionError),
        (1.5, OptionError),
        (True, OptionError),
    ):
        with pytest.raises(error, match="target"):
            explainer(TEXTS[0], target=target)


def test_odd_targets_and_numpy_options(lstm_model):
    import json

    for target in ("--1", "-1", "१"):
        with pytest.raises(mase.MaseError, match="target"):
            mase.Explainer(lstm_model, n_samples=40)(TEXTS[0], target=target)
    found = mase.Explainer(
        lstm_model, method=resolve("mase-nlgp", sigma=np.float32(0.1)), n_samples=np.int64(40), seed=np.int64(3)
    )(TEXTS[0])
    assert json.loads(json.dumps(found.to_dict()))["method"]["n_samples"] == 40


def test_local_accuracy(lstm_model):
    for link in ("probability", "log-probability", "logit", "margin"):
        found = mase.Explainer(lstm_model, n_samples=80, link=link)(TEXTS[0])
        assert found.intercept + found.scores.sum() == pytest.approx(found.response, abs=1e-12)
        assert found.link == link


def test_links_rank_alike_as_sigma_vanishes(lstm_model):
    found = {
        link: mase.Explainer(lstm_model, method="mase-nlgp+sigma=0.003", n_samples=400, link=link)(TEXTS[1])
        for link in ("probability", "log-probability", "margin")
    }
    p = found["probability"].target_probability
    assert found["log-probability"].scores * p == pytest.approx(found["probability"].scores, abs=1e-4)
    assert found["margin"].scores * p * (1 - p) == pytest.approx(found["probability"].scores, abs=1e-4)


def test_unit_steps_divide_by_the_length_of_the_vector(lstm_model, small_lstm):
    import torch

    from mase.spaces import TokenScale
    from mase.testing import whitespace_ids

    relative = mase.Explainer(lstm_model, method="mase-nlgp+sigma=0.001", n_samples=600)(TEXTS[1]).scores
    unit = mase.Explainer(
        lstm_model, method=resolve("mase-nlgp", sigma=0.003, space=TokenScale(step="unit")), n_samples=600
    )(TEXTS[1]).scores
    lengths = small_lstm.words(torch.tensor(whitespace_ids(TEXTS[1]))).norm(dim=1).detach().numpy()
    assert relative == pytest.approx(unit * lengths, abs=0.02 * np.abs(relative).max())


def test_small_sigma_is_gradient_times_input(lstm_model, small_lstm):
    import torch

    from mase.testing import whitespace_ids

    small_lstm.eval()
    embedded = small_lstm.words(torch.tensor([whitespace_ids(TEXTS[1])])).detach().requires_grad_(True)
    chance = small_lstm.head(small_lstm.lstm(embedded)[0].max(dim=1).values).softmax(dim=1)[0, 1]
    chance.backward()
    expected = (embedded.grad * embedded).sum(dim=2)[0].detach().numpy()
    for method in ("mase-nlgp", "mase-gradient"):
        found = mase.Explainer(lstm_model, method=resolve(method, sigma=0.003), n_samples=400)(TEXTS[1], target=1)
        assert found.scores == pytest.approx(expected, abs=0.02 * float(np.abs(expected).max()))


@pytest.mark.slow
def test_full_embedding_noise_estimates_the_same_local_slope(lstm_model):
    """The distribution of vec Z is isotropic: <gamma_i, e_i> tends to gradient x input, with a far larger error."""
    scaled = mase.Explainer(lstm_model, method="mase-nlgp+sigma=0.01")(TEXTS[0])
    full = mase.Explainer(lstm_model, method="standard-gaussian+sigma=0.01+estimator=least-squares", n_samples=20_000)(
        TEXTS[0]
    )
    assert (np.abs(full.scores - scaled.scores) < 4 * full.standard_errors).all()
    assert (full.standard_errors > 2 * scaled.standard_errors).all()


def test_full_embedding_is_theorem_1_on_all_entries(small_lstm):
    """Brute force: the whole n x (t d) matrix of noise, Theorem 1 on vec Z, then <gamma_i, e_i>."""
    import torch

    from mase.methods import resolve
    from mase.models import TorchModule
    from mase.models.base import Binding
    from mase.testing import whitespace_ids

    text, n, sigma = "good slow film", 64, 0.2
    model = TorchModule(small_lstm, tokenize=whitespace_ids)
    method = resolve("standard-gaussian", sigma=sigma)
    probe = model.bind(Binding(model.encode(text), method.space, np.arange(3), 3, (0, 1), sigma))
    rng, seen = np.random.default_rng(0), []
    handle = small_lstm.lstm.register_forward_pre_hook(lambda _m, args: seen.append(args[0].detach().double().numpy()))
    coordinates = 1 + rng.standard_normal((n, 3)) * sigma * probe.scale
    scores = probe.scores(coordinates, np.arange(n))
    handle.remove()
    embedded = small_lstm.words(torch.tensor(whitespace_ids(text))).detach().double().numpy()
    z = seen[0] - embedded
    assert z.std() == pytest.approx(sigma, rel=0.05)
    d = scores[:, 0] - probe.start[0, 0]
    gamma = np.einsum("n,ntd->td", d, z) / n / sigma**2
    u = coordinates - 1
    reduced = (d[:, None] * u).mean(axis=0) / (sigma * probe.scale) ** 2
    assert reduced == pytest.approx((gamma * embedded).sum(axis=1), rel=1e-3)


def test_cone_stays_within_its_angle(small_lstm):
    from mase.models import TorchModule
    from mase.models.base import Binding
    from mase.spaces import Cone
    from mase.testing import whitespace_ids

    theta, seen = 0.3, []
    model = TorchModule(small_lstm, tokenize=whitespace_ids)
    probe = model.bind(Binding(model.encode("good slow film"), Cone(theta), np.arange(3), 3, (0, 1), 0.1))
    handle = small_lstm.lstm.register_forward_pre_hook(lambda _m, args: seen.append(args[0].detach().double().numpy()))
    probe.scores(np.full((200, 3), 1.2), np.arange(200))
    handle.remove()
    text = probe.text.double().numpy()
    cosine = (seen[0] * text).sum(axis=2) / np.linalg.norm(seen[0], axis=2) / np.linalg.norm(text, axis=1)
    angle = np.arccos(np.clip(cosine, -1, 1))
    assert angle.max() <= theta + 1e-5
    assert angle.max() > 0.9 * theta
    assert angle.min() < 0.1 * theta


def test_sigma_as_vector_matrix_and_function(lstm_model):
    text = TEXTS[0]
    p = len(text.split())
    scalar = mase.Explainer(lstm_model, method="mase-nlgp+sigma=0.2", n_samples=80)(text)
    for sigma in (np.full(p, 0.2), 0.04 * np.eye(p), lambda size: 0.04 * np.eye(size)):
        assert mase.Explainer(lstm_model, method=resolve("mase-nlgp", sigma=sigma), n_samples=80)(
            text
        ).scores == pytest.approx(scalar.scores, abs=1e-6)
    found = mase.Explainer(
        lstm_model, method=resolve("mase-nlgp", sigma=lambda size: np.full(size, 0.2)), n_samples=80
    )(text)
    assert found.method["sigma"] == [0.2] * p
    with pytest.raises(mase.MaseError, match="sigma"):
        mase.Explainer(lstm_model, method=resolve("mase-nlgp", sigma=np.ones(3)))(text)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_text_without_words(lstm_model, text):
    with pytest.raises(EmptyTextError, match="word"):
        mase.Explainer(lstm_model)(text)


@pytest.mark.parametrize("text", ["a", "!!!", "zzzz qqqq", "the the the", "\x00 nul", "naïve 👍🏽 ❤️ مرحبا"])
@pytest.mark.parametrize(
    "method", ["mase", "mase-nlgp", "mase-paper", "mase-sparse", "mase-path", "mase-cone", "standard-gaussian"]
)
def test_awkward_texts_have_finite_answers(lstm_model, text, method):
    found = mase.Explainer(lstm_model, method=method, n_samples=60)(text)
    assert len(found.words) == len(text.split())
    assert np.isfinite(found.scores).all()
    assert np.isfinite(found.standard_errors).all()


def test_inputs_of_another_type(lstm_model):
    explainer = mase.Explainer(lstm_model, n_samples=40)
    for wrong in (b"bytes", 3, None):
        with pytest.raises(InvalidTextError):
            explainer(wrong)
    with pytest.raises(InvalidTextError):
        explainer(["fine", 3])
    assert explainer([]) == []
    assert len(explainer(text for text in TEXTS)) == 4


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_samples": 1}, "n_samples"), ({"n_samples": 10.5}, "n_samples"), ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"units": "letter"}, "unit 'letter'"),
            ({"fixed": 3}, "fixed"), ({"fixed": None}, "fixed"),
        ({"background": ["age"]}, "background"), ({"background": {"age": np.nan}}, "background of 'age'"),
            ({"method": "lime-ish"}, "method"), ({"link": "odds"}, "link"),
        ({"reference": "nothing"}, "reference"), ({"batch_size": 0}, "batch_size"),
    ],
)  # fmt: skip
def test_bad_options_name_themselves(lstm_model, options, match):
    with pytest.raises(mase.MaseError, match=match):
        mase.Explainer(lstm_model, **({"n_samples": 40} | options))(TEXTS[0])


@pytest.mark.parametrize(
    ("method", "parts", "match"),
    [
        ("mase", {"design": "circle"}, "design"), ("mase", {"estimator": "magic"}, "estimator"),
        ("mase", {"center": 1.0}, "center given"), ("mase", {"sigma": 0.1}, "sigma given"),
        ("mase-nlgp", {"center": np.nan}, "center is nan"), ("mase-nlgp", {"center": "0"}, "center is '0'"),
        ("mase-nlgp", {"sigma": 0.0}, "sigma is 0"), ("mase-nlgp", {"sigma": "0.1"}, "sigma is '0.1'"),
        ("mase-nlgp", {"sigma": lambda p: ["0.1"] * p}, "sigma is"),
    ],
)  # fmt: skip
def test_bad_parts_name_themselves(lstm_model, method, parts, match):
    with pytest.raises(mase.MaseError, match=match):
        mase.Explainer(lstm_model, method=resolve(method, **parts), n_samples=40)(TEXTS[0])


@pytest.mark.parametrize(
    ("estimator", "n_samples"),
    [("kernel-ridge", 2), ("kernel-ridge", 3), ("kernel-ridge", 4), ("kernel-ridge", 7),
     ("least-squares", 2), ("least-squares", 10)],
)  # fmt: skip
def test_very_few_samples_answer_or_say_why_not(lstm_model, estimator, n_samples):
    """Eight words."""
    try:
        found = mase.Explainer(lstm_model, n_samples=n_samples, method=resolve("mase", estimator=estimator))(TEXTS[1])
    except OptionError as error:
        assert "n_samples" in str(error)  # noqa: PT017
        assert n_samples < 4
    else:
        assert np.isfinite(found.scores).all()
        assert "few-samples" in [note.code for note in found.notes]


def test_intervals_are_those_of_total_errors(lstm_model):
    """Standard errors are those between seeds; a penalty takes more, with every seed."""
    found = mase.Explainer(lstm_model, n_samples=60)(" ".join(TEXTS))
    first = found.responses[0]
    assert (found.total_errors >= found.standard_errors).all()
    assert found.total_errors.max() > 1.01 * found.standard_errors.max()
    kept = found.effect("kept")
    assert (kept.total_errors >= kept.standard_errors).all()
    assert kept.total_errors.tolist() == list(first.effects["kept_total_error"])
    assert error95(found.word_scores[0]) == pytest.approx(1.959964 * found.total_errors[0])
    old = replace(first, total_errors=None)
    assert old.interval_errors == first.standard_errors


def test_provenance_is_complete(lstm_model):
    found = mase.Explainer(lstm_model, n_samples=80, reference="unk", seed=5)(TEXTS[0])
    assert found.method["space"] == {"name": "token-mask", "reference": "unk"}
    assert found.method["design"]["name"] == "focused"
    assert found.method["design"]["rounds"] == 4
    assert found.method["n_samples"] == 80
    assert found.seed == 5
    assert len(found.model["sha256"]) == 64
    assert {"python", "numpy", "torch"} <= set(found.versions)
    # The subsets of six words, the reference beside the text, and two subsets again, alone.
    assert found.fit.n_queries == 2**6 + 3
    assert found.fit.seconds > 0


def test_checksum_follows_the_weights(lstm_model, small_lstm):
    import torch

    explainer = mase.Explainer(lstm_model, n_samples=40)
    before = explainer(TEXTS[0])
    assert explainer(TEXTS[0]).model["sha256"] == before.model["sha256"]
    with torch.no_grad():
        small_lstm.head.bias += 1
    changed = explainer(TEXTS[0]).model["sha256"]
    small_lstm.head.weight = torch.nn.Parameter(small_lstm.head.weight.detach() * 2)
    assert len({before.model["sha256"], changed, explainer(TEXTS[0]).model["sha256"]}) == 3


def test_saturation_is_remarked(lstm_model, small_lstm):
    import torch

    with torch.no_grad():
        small_lstm.head.bias.copy_(torch.tensor([-9.0, 9.0]))
    found = mase.Explainer(lstm_model, n_samples=80, link="probability")(TEXTS[0])
    assert "saturated" in [note.code for note in found.notes]
    margin = mase.Explainer(lstm_model, n_samples=80, link="margin")(TEXTS[0])
    assert "saturated" not in [note.code for note in margin.notes]


@pytest.mark.parametrize(("bias", "saturated"), [(9.0, True), (-3.0, False)])
def test_saturation_is_remarked_only_where_scores_are_tiny(bias, saturated):
    def model(texts):
        p = [1 / (1 + np.exp(-bias - 12 * ("superb" in text))) for text in texts]
        return [[1 - one, one] for one in p]

    found = mase.Explainer(model, link="probability", n_samples=64)("a superb film")
    assert found.target_probability > 0.999
    assert (np.abs(found.scores).max() < 0.01) == saturated
    assert ("saturated" in [note.code for note in found.notes]) == saturated


def test_attribution_views(lstm_model):
    found = mase.Explainer(lstm_model, n_samples=80)(TEXTS[1])
    assert len(found.words) == len(found.scores) == len(found.standard_errors) == len(found.spans)
    assert [word.score for word in found.top(3)] == sorted(found.scores, reverse=True)[:3]
    assert abs(found.top(1, by="magnitude")[0].score) == np.abs(found.scores).max()
    assert len(found.top(100)) == len(found.words)
    assert found.as_list() == list(zip(found.words, found.scores, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        found.scores[0] = 1
    assert len(found.top(np.int64(3))) == 3
    for wrong in ({"k": -1}, {"k": 2.5}, {"k": "3"}, {"k": None}, {"by": "size"}):
        with pytest.raises(OptionError):
            found.top(**wrong)


def test_the_function_is_not_hidden_by_a_module():
    """`mase.explain` stays a function after every module of the package is imported."""
    import importlib
    import pkgutil

    for found in pkgutil.walk_packages(mase.__path__, "mase."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name in mase.__all__:
        assert type(getattr(mase, name)).__name__ != "module" or name == "models", name


@pytest.mark.parametrize(
    ("content", "options", "match"),
    [
        ("a good film", {"units": "re:bad"}, "unit by 're:bad'"),
        ({"title": "a film", "body": "good"}, {"fixed": ["title", "body"]}, r"fixed fields \(title, body\)"),
        ({"title": "a film", "body": ""}, {"fixed": ["title"]}, r"fixed fields \(title\)"),
    ],
)
def test_a_text_without_units_says_why(content, options, match):
    with pytest.raises(mase.MaseError, match=match):
        mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], **options)(content)


def test_a_model_in_the_place_of_a_text_is_named_before_a_model_is_opened():
    model = mase.models.Callable(lambda texts: [[0.9, 0.1] for _ in texts])
    for given in (model, model.predict):
        with pytest.raises(InvalidTextError, match="order of the arguments"):
            mase.explain(given, "a good film")
        with pytest.raises(InvalidTextError, match="order of the arguments"):
            mase.evaluate(["a good film"], given)


TEXT = "slow and dull , yet beautiful in places"


WORTH = {"dull": (2.0, -1.0, 0.5), "beautiful": (-1.5, 3.0, 0.0), "slow": (0.5, 0.0, -0.5)}


def logits(texts):
    """Three logits per text, each additive in its words."""
    return [[sum(WORTH[word][k] for word in WORTH if word in text.split()) for k in range(3)] for text in texts]


def classifier(labels=("bad", "good", "odd"), **options):
    return Callable(logits, labels, outputs="logits", **options)


def test_a_zoom_into_labels_that_are_numbers_takes_none_as_an_index():
    words, numbers = (
        mase.Explainer(classifier(labels), n_samples=100, zoom=1, units="sentence", evidence=0)
        for labels in (["bad", "good", "odd"], ["1", "2", "0"])
    )
    expected = words(TEXT, target=["bad", "odd"], against="good").zoomed
    found = numbers(TEXT, target=[1, 0], against=2).zoomed
    assert [response.name for response in found.responses] == ["1", "0"]
    assert found.scores == pytest.approx(expected.scores)
    assert found.of("0").scores == pytest.approx(expected.of("odd").scores)


def test_an_evaluation_of_labels_that_are_numbers_explains_the_predicted_class():
    found, expected = (
        Evaluator(classifier(labels), methods=["occlusion"], metrics=["deletion"])(TEXT)
        for labels in (["1", "2", "0"], ["bad", "good", "odd"])
    )
    assert found.by_method["occlusion"].values == pytest.approx(expected.by_method["occlusion"].values)


@pytest.mark.parametrize(
    "method", ["mase-mask", "kernel-shap", "lime", "occlusion", "permutation-importance", "partition-shap", "random"]
)
def test_all_classes_equal_separate_explanations_of_the_same_rows_at_the_cost_of_one(method):
    explainer = mase.Explainer(classifier(), method=method, link="margin", n_samples=100, evidence=0)
    together = explainer(TEXT, target="all")
    assert [response.name for response in together.responses] == ["good", "bad", "odd"]  # the most probable first
    for name in ("bad", "good", "odd"):
        alone, found = explainer(TEXT, target=name), together.of(name)
        assert found.scores == pytest.approx(alone.scores, abs=1e-10)
        assert found.standard_errors == pytest.approx(alone.standard_errors, abs=1e-10, nan_ok=True)
        assert found.order.tolist() == alone.order.tolist()
        assert (found.response, found.r2) == (pytest.approx(alone.response), pytest.approx(alone.r2))
        assert found.fit.split_half == pytest.approx(alone.fit.split_half)
        assert found.r2_held_out == pytest.approx(alone.r2_held_out)
        assert (found.r2_held_out is None) == (method not in ("mase-mask", "kernel-shap", "lime"))
        assert {note.code for note in found.own_notes} == {note.code for note in alone.notes}
    assert together.fit.n_queries <= explainer(TEXT).fit.n_queries + (method == "partition-shap") * 100


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(2)
    labels = ["bad", "good", "odd"]
    return TorchModule(SmallLSTM(3), tokenize=whitespace_ids, labels=labels, pad_id=0, unk_id=1, mask_id=2)


@pytest.mark.parametrize("method", ["mase", "mase-nlgp", "gradient-x-input", "smoothgrad"])
def test_the_leading_class_is_explained_as_if_alone(model, method):
    explainer = mase.Explainer(model, method=method, n_samples=40, evidence=0)
    alone, together = explainer(TEXT), explainer(TEXT, target="all")
    assert together.target == alone.target
    assert np.array_equal(together.scores, alone.scores)
    assert np.array_equal(together.standard_errors, alone.standard_errors)
    codes = {note.code for note in together.notes}
    gradients = method in ("gradient-x-input", "smoothgrad")
    assert ("led" in codes, "separately" in codes) == (method == "mase", gradients)
    n = alone.fit.n_gradients
    assert together.fit.n_queries == (alone.fit.n_queries + 2 * n if gradients else alone.fit.n_queries)
    if gradients:
        other = explainer(TEXT, target="odd")
        assert together.of("odd").scores == pytest.approx(other.scores, abs=1e-10)


def test_the_note_of_the_leading_class_calls_units_what_they_are(model):
    text = "w1 w2 w3. w4 w5 w6. w7 w8 w9. w1 w3. w2 w5. w4 w8. w6 w9. w5 w7. w1 w8."
    found = mase.Explainer(model, units="sentence", n_samples=40, evidence=0)(text, target="all")
    (message,) = [note.message for note in found.notes if note.code == "led"]
    assert "best sentences" in message


def test_without_adaptation_the_classes_are_within_their_errors_of_another_seed(model):
    together = mase.Explainer(model, method="mase-nlgp", n_samples=60, evidence=0)(TEXT, target="all")
    other_seed = mase.Explainer(model, method="mase-nlgp", n_samples=60, seed=1, evidence=0)
    for name in together.prediction.names:
        led, alone = together.of(name), other_seed(TEXT, target=name)
        error = np.sqrt(led.standard_errors**2 + alone.standard_errors**2)
        assert (np.abs(led.scores - alone.scores) < 4 * error).all()


def test_another_response_comes_first_with_its_own_quality(model):
    found = mase.Explainer(model, n_samples=60, evidence=1)(TEXT, target=["odd", "bad"])
    assert found.responses[0].split_half == found.fit.split_half
    first, second = found.responses
    found = replace(found, responses=(first, replace(second, split_half=0.25)))
    other = found.of("bad")
    assert [one.name for one in other.responses] == ["bad", "odd"]
    assert other.fit.split_half == 0.25
    assert (other.of("odd"), found.of("odd")) == (found, found)
    assert other.evidence.response == "odd"
    notes = (Note("poor-fit", "poor", response="bad"), Note("early", "both"))
    careful = replace(found, notes=notes)
    assert [note.code for note in careful.own_notes] == ["early"]
    assert "poor" in careful.of("bad").verdict.reasons


@pytest.mark.parametrize("method", ["mase", "gradient-x-input"])
def test_a_contrast_is_the_difference_of_logits(model, method):
    explainer = mase.Explainer(model, method=method, n_samples=60, link="margin", evidence=0)
    found = explainer(TEXT, target="good", against="odd")
    assert (found.target, found.responses[0].against, found.title) == ("good", "odd", "good rather than odd")
    logits = mase.Explainer(model, method=method, n_samples=60, link="logit", evidence=0)
    difference = logits(TEXT, target="good").response - logits(TEXT, target="odd").response
    assert found.response == pytest.approx(difference, abs=1e-3)
    back = explainer(TEXT, target="odd", against="good")
    if method == "gradient-x-input":  # linear in the explained number
        each = [logits(TEXT, target=name).scores for name in ("good", "odd")]
        assert found.scores == pytest.approx(each[0] - each[1], abs=1e-3)
        assert back.scores == pytest.approx(-found.scores, abs=1e-9)
    else:
        error = np.sqrt(found.standard_errors**2 + back.standard_errors**2)
        assert (np.abs(back.scores + found.scores) < 4 * error + 1e-6).all()


def test_a_contrast_of_additive_logits_comes_back():
    found = mase.Explainer(classifier(), n_samples=100, evidence=0)(TEXT, target="all", against="bad")
    assert [one.name for one in found.responses] == ["good", "odd"]
    for name, column in (("good", 1), ("odd", 2)):
        expected = [WORTH[word][column] - WORTH[word][0] if word in WORTH else 0.0 for word in found.words]
        assert found.of(name).scores == pytest.approx(np.array(expected), abs=1e-3)
    with pytest.raises(OptionError, match="both 'good'"):
        mase.Explainer(classifier(), evidence=0)(TEXT, against="good")


def test_words_of_earlier_versions_are_wordpunct():
    """Results of 0.2 call words what is called wordpunct now."""
    model = Callable(LogisticClassifier({"good": 0.25}))
    now = mase.Explainer(model, units="wordpunct")("A good film, not dull.")
    old = replace(now, versions=now.versions | {"mase-xai": "0.2.0"}, method=now.method | {"units": "word"})
    expected = mase.Explainer(model, units="wordpunct").predict_without(now, [1])
    assert mase.Explainer(model, units="wordpunct").predict_without(old, [1]) == expected
    with pytest.raises(OptionError, match="make an explainer with units='wordpunct'"):
        mase.Explainer(model).predict_without(old, [1])
    with pytest.raises(ShapeError, match="evaluate with the units of the attribution, 'wordpunct'"):
        mase.evaluate(model, [old.text], attributions={"old": [old]})


def test_masking_is_asked_about_the_contrast():
    explainer = mase.Explainer(classifier(), n_samples=100, evidence=1)
    found = explainer(TEXT, target="good", against="bad")
    word = found.words.index("beautiful")
    changed = explainer.predict_without(found, [word])
    assert changed.response == pytest.approx(found.expected_without([word]), abs=1e-3)
    assert found.expected_probability_without([word]) is None
    assert found.evidence.without[0].response == pytest.approx(changed.response)


def test_separate_questions_have_each_their_own_log_odds():
    def answer(texts):
        return (1 / (1 + np.exp(-np.array(logits(texts))))).tolist()

    model = Callable(answer, ["bad", "good", "odd"], multilabel=True)
    found = mase.Explainer(model, n_samples=100, evidence=0)(TEXT, target="all")
    assert found.target == "good"
    assert found.prediction.multilabel is True
    assert loads(dumps(found)).prediction.multilabel is True
    for name, column in (("bad", 0), ("good", 1), ("odd", 2)):
        expected = [WORTH[word][column] if word in WORTH else 0.0 for word in found.words]
        assert found.of(name).scores == pytest.approx(np.array(expected), abs=1e-3)


def test_a_model_that_is_not_deterministic_has_its_noise_in_every_class():
    rng = np.random.default_rng(0)
    noisy = Callable(lambda texts: np.array(logits(texts)) + 0.05 * rng.standard_normal((len(texts), 3)),
                     ["bad", "good", "odd"], outputs="logits")  # fmt: skip
    found = mase.Explainer(noisy, method="occlusion", link="logit", evidence=0)(TEXT, target="all")
    for response in found.responses:
        assert all(0.001 < error < 0.2 for error in response.standard_errors)
    assert {note.code: note.response for note in found.notes}["not-deterministic"] is None


def test_who_follows_sees_the_leading_class(model):
    seen = []
    explainer = mase.Explainer(model, n_samples=120, evidence=0)
    found = explainer(TEXT, on_progress=lambda progress: seen.append(progress.attribution), target="all")
    so_far = [one for one in seen if one is not None]
    assert so_far
    assert all([response.name for response in one.responses] == [found.target] for one in so_far)


def test_each_class_has_its_own_pairs_and_scores_do_not_depend_on_them(monkeypatch):
    def paired(texts):
        return [[0.0, 3.0 * ({"dull", "yet"} <= set(text.split())), float("slow" in text)] for text in texts]

    def explained():
        model = Callable(paired, ["bad", "good", "odd"], outputs="logits")
        return mase.Explainer(model, link="logit", n_samples=300, evidence=0)(TEXT, target="all")

    found = explained()
    (pair,) = found.of("good").interactions
    assert [found.words[unit] for unit in pair.units] == ["dull", "yet"]
    assert pair.score == pytest.approx(3)
    assert found.of("bad").interactions == found.of("odd").interactions == ()
    monkeypatch.setattr("mase.solve.regression.interactions", lambda *_: ())
    without = explained()
    assert [one.scores for one in without.responses] == [one.scores for one in found.responses]
    assert without.of("good").interactions == ()


FOLLOWING_TEXT = "a dull start but a wonderful and warm end of a film that many people like to see"


WEIGHTS = {"dull": -1.5, "wonderful": 2.0, "warm": 0.75, "film": 0.25}


judge = LogisticClassifier(WEIGHTS)


def log_odds(text):
    return sum(WEIGHTS.get(word, 0.0) for word in text.split())


def without(words, units):
    return " ".join(word for index, word in enumerate(words) if index not in units)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"evidence": 3},
        {"method": "mase-nlgp"},
        {"method": "occlusion"},
        {"method": "partition-shap"},
        {"method": "gradient-x-input"},
        {"stopping": Stopping(tolerance=0.1)},
    ],
)
def test_who_follows_does_not_change_the_result(lstm_model, options):
    explainer = mase.Explainer(lstm_model, n_samples=120, batch_size=16, **options)
    seen = []
    found = explainer(FOLLOWING_TEXT, on_progress=seen.append)
    assert found == explainer(FOLLOWING_TEXT)
    assert found.scores.tobytes() == explainer(FOLLOWING_TEXT).scores.tobytes()
    asked = [progress.n_asked for progress in seen]
    assert asked == sorted(asked)
    assert asked[-1] == found.fit.n_queries
    assert {progress.n_samples for progress in seen} == {explainer.method.n_samples}


@pytest.mark.slow
def test_who_follows_may_use_the_model(lstm_model):
    explainer = mase.Explainer(lstm_model, n_samples=40, batch_size=16)
    prediction, other = lstm_model.predict([FOLLOWING_TEXT]).tolist(), explainer("a dull film").scores.tolist()
    seen = []

    def listener(_):
        seen.append((lstm_model.predict([FOLLOWING_TEXT]).tolist(), explainer("a dull film").scores.tolist()))

    assert explainer(FOLLOWING_TEXT, on_progress=listener).scores.tolist() == explainer(FOLLOWING_TEXT).scores.tolist()
    assert seen == [(prediction, other)] * len(seen)
    assert len(seen) > 3


def test_every_batch_and_every_round_but_the_last_is_told(lstm_model):
    seen = []
    found = mase.Explainer(lstm_model, n_samples=100, batch_size=10)(FOLLOWING_TEXT, on_progress=seen.append)
    interim = [progress.attribution for progress in seen if progress.attribution is not None]
    assert len(interim) == found.method["design"]["rounds"] - 1 == 3
    assert len(seen) >= 10 + 4
    assert all(one.words == found.words and one.target == found.target for one in interim)
    errors = [one.standard_errors.mean() for one in interim]
    assert errors[-1] < errors[0]
    assert interim[-1].scores == pytest.approx(found.scores, abs=10 * found.standard_errors.max())


def test_random_numbers_of_a_listener_do_not_reach_the_model():
    def noisy(texts):
        draws = [random.random() for _ in texts]
        return [[draw, 1 - draw] for draw in draws]

    def listener(_progress):
        random.random()
        np.random.random()  # noqa: NPY002

    explainer = mase.Explainer(noisy, n_samples=40)
    assert explainer("one two three", on_progress=listener) == explainer("one two three")


def test_one_call_can_be_followed_too():
    seen = []
    found = mase.explain(FOLLOWING_TEXT, judge, n_samples=60, on_progress=seen.append)
    assert seen[-1].n_asked == found.fit.n_queries
    assert found == mase.explain(FOLLOWING_TEXT, judge, n_samples=60)


class Enough(Exception):
    """The reason of a listener to end an explanation."""


@pytest.mark.parametrize("method", ["mase", "occlusion", "partition-shap", "permutation-importance"])
def test_what_the_listener_raises_ends_the_explanation(method):
    asked = []

    def count(texts):
        asked.extend(texts)
        return judge(texts)

    def stop(progress):
        if progress.n_asked > 5:
            raise Enough

    explainer = mase.Explainer(count, method=method, n_samples=500, batch_size=5)
    with pytest.raises(Enough):
        explainer(FOLLOWING_TEXT, on_progress=stop)
    assert len(asked) < 30


def test_a_memory_error_of_the_listener_is_not_one_of_the_model():
    def stop(_progress):
        raise MemoryError

    with pytest.raises(MemoryError):
        mase.Explainer(judge, n_samples=50)(FOLLOWING_TEXT, on_progress=stop)


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "random"])
@pytest.mark.parametrize("target", [None, 0])
def test_a_prediction_without_units_is_that_of_the_text_without_them(method, target):
    explainer = mase.Explainer(judge, method=method, n_samples=50)
    found = explainer(FOLLOWING_TEXT, target=target)
    for units in ([], [5], [1, 5], [7, 1, 1], range(len(found.units) - 1)):
        changed = explainer.predict_without(found, units)
        (expected,) = judge([without(FOLLOWING_TEXT.split(), set(units))])
        assert changed.units == tuple(dict.fromkeys(units))
        assert changed.label == str(np.argmax(expected))
        assert changed.probability == pytest.approx(expected.max())
        assert changed.target_probability == pytest.approx(expected[int(found.target)])


@pytest.mark.parametrize("options", [{}, {"method": "mase-nlgp"}, {"units": "token"}, {"reference": "pad"}])
def test_a_prediction_without_units_is_that_of_the_evidence(lstm_model, options):
    explainer = mase.Explainer(lstm_model, n_samples=120, evidence=3, **options)
    found = explainer(FOLLOWING_TEXT)
    for changed in found.evidence.without:
        again = explainer.predict_without(found, changed.units)
        assert again.label == changed.label
        assert again.target_probability == pytest.approx(changed.target_probability, abs=1e-3)


@pytest.mark.parametrize("link", ["margin", "logit"])
def test_the_scores_of_a_linear_model_say_what_it_will_predict(link):
    explainer = mase.Explainer(judge, link=link, n_samples=200)
    found = explainer(FOLLOWING_TEXT, target=1)
    for units in ([], [5], [1, 5, 7]):
        left = without(FOLLOWING_TEXT.split(), units)
        assert found.expected_without(units) == pytest.approx(log_odds(left), abs=1e-3)
        expected = explainer.predict_without(found, units).target_probability
        assert found.expected_probability_without(units) == pytest.approx(expected, abs=1e-3)


def test_an_expected_probability_is_one():
    found = mase.Explainer(judge, link="probability", n_samples=200)(FOLLOWING_TEXT, target=1)
    best = [index for index, score in enumerate(found.scores) if score > 0.01]
    assert found.expected_without(best) == pytest.approx(found.response - found.scores[best].sum())
    shifted = replace(found, responses=(replace(found.responses[0], value=-0.5),))
    assert shifted.expected_without([]) == -0.5
    assert shifted.expected_probability_without([]) == 0
    logs = mase.Explainer(judge, link="log-probability", n_samples=200)(FOLLOWING_TEXT, target=1)
    assert logs.expected_probability_without([]) == pytest.approx(logs.target_probability)


def softmax(texts):
    logits = np.array([[log_odds(text), 0.5, -1.0] for text in texts])
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def test_a_link_that_depends_on_further_classes_has_no_expected_probability():
    for link, known in (("margin", False), ("logit", True), ("probability", True)):
        found = mase.Explainer(softmax, link=link, n_samples=50)(FOLLOWING_TEXT, target=0)
        assert (found.expected_probability_without([5]) is not None) == known
    logits = mase.models.Callable(lambda texts: [[log_odds(text), 1.0] for text in texts], outputs="logits")
    found = mase.Explainer(logits, link="logit", n_samples=50)(FOLLOWING_TEXT, target=0)
    assert found.expected_probability_without([5]) is None


@pytest.mark.parametrize("method", ["gradient", "random"])
def test_scores_without_a_sign_or_a_meaning_lead_to_expect_nothing(lstm_model, method):
    found = mase.Explainer(lstm_model, method=method)(FOLLOWING_TEXT)
    assert found.expected_without([0]) is None
    assert found.expected_probability_without([0]) is None


@pytest.mark.parametrize("units", [[-1], [18], [True], ["5"], [1.5], [[0]], [{}], [0, 99], 0, None])
def test_units_that_do_not_exist(units):
    explainer = mase.Explainer(judge, n_samples=50)
    found = explainer(FOLLOWING_TEXT)
    with pytest.raises(OptionError):
        explainer.predict_without(found, units)
    with pytest.raises(OptionError):
        found.expected_without(units)


def test_an_attribution_of_another_model_is_refused(lstm_model):
    found = mase.Explainer(judge, n_samples=50)(FOLLOWING_TEXT)
    with pytest.raises(OptionError):
        mase.Explainer(lstm_model).predict_without(found, [0])


def test_an_attribution_from_before_a_module_was_trained_says_what_differs():
    module = SmallMLP()
    explainer = mase.Explainer(module, whitespace_ids, n_samples=16)
    found = explainer(FOLLOWING_TEXT)
    with torch.no_grad():
        module.head.weight.mul_(2)
    with pytest.raises(OptionError, match=r"'SmallMLP', with another sha256 .*explain the text again"):
        explainer.predict_without(found, [0])


def test_who_follows_is_a_function():
    with pytest.raises(OptionError, match="on_progress is of type int"):
        mase.explain(FOLLOWING_TEXT, judge, on_progress=5)


def test_units_of_another_explainer_cannot_be_masked(lstm_model):
    found = mase.Explainer(lstm_model, units="line", n_samples=16)("A good film.\nA bad day.")
    with pytest.raises(OptionError, match=r"has the units 'line', expected 'word'.* units='line'"):
        mase.Explainer(lstm_model, n_samples=16).predict_without(found, [0])


def test_units_of_another_function_of_the_same_name_cannot_be_masked():
    whole, halves = (lambda text: [(0, len(text))]), (lambda text: [(0, 6), (6, len(text))])
    found = mase.Explainer(judge, units=whole, n_samples=16)(FOLLOWING_TEXT)
    with pytest.raises(OptionError, match=r"has 1 units, expected the 2 units"):
        mase.Explainer(judge, units=halves, n_samples=16).predict_without(found, [0])


def test_a_prediction_without_units_is_of_an_attribution():
    explainer = mase.Explainer(lambda texts: [[0.3, 0.7]] * len(texts), n_samples=20)
    with pytest.raises(OptionError, match="expected an attribution"):
        explainer.predict_without("a b", [0])
