"""Tests of `mase.explainer`."""

from dataclasses import replace

import numpy as np
import pytest

import mase
from mase.errors import EmptyTextError, InvalidTextError, OptionError, UnknownNameError
from mase.render.palette import error95

TEXTS = ["this is a rather good film", "slow and dull , yet beautiful in places", "good good good", "fine"]


def test_same_seed_same_bits_whatever_the_order(lstm_model):
    explainer = mase.Explainer(lstm_model, n_samples=80, seed=7)
    forth, back = explainer(TEXTS), explainer(TEXTS[::-1])[::-1]
    assert forth == back
    assert [a.scores.tobytes() for a in forth] == [explainer(text).scores.tobytes() for text in TEXTS]
    other = mase.Explainer(lstm_model, n_samples=80, seed=8)(TEXTS[1])
    assert not np.array_equal(other.scores, forth[1].scores)


@pytest.mark.parametrize("method", list(mase.METHODS))
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
        lstm_model, method="mase-nlgp", n_samples=np.int64(40), seed=np.int64(3), sigma=np.float32(0.1)
    )(TEXTS[0])
    assert json.loads(json.dumps(found.to_dict()))["method"]["n_samples"] == 40


def test_local_accuracy(lstm_model):
    for link in ("probability", "log-probability", "logit", "margin"):
        found = mase.Explainer(lstm_model, n_samples=80, link=link)(TEXTS[0])
        assert found.intercept + found.scores.sum() == pytest.approx(found.response, abs=1e-12)
        assert found.link == link


def test_links_rank_alike_as_sigma_vanishes(lstm_model):
    found = {
        link: mase.Explainer(lstm_model, method="mase-nlgp", n_samples=400, link=link, sigma=0.003)(TEXTS[1])
        for link in ("probability", "log-probability", "margin")
    }
    p = found["probability"].target_probability
    assert found["log-probability"].scores * p == pytest.approx(found["probability"].scores, abs=1e-4)
    assert found["margin"].scores * p * (1 - p) == pytest.approx(found["probability"].scores, abs=1e-4)


def test_unit_steps_divide_by_the_length_of_the_vector(lstm_model, small_lstm):
    import torch

    from mase.spaces.token_scale import TokenScale
    from mase.testing import whitespace_ids

    relative = mase.Explainer(lstm_model, method="mase-nlgp", n_samples=600, sigma=0.001)(TEXTS[1]).scores
    unit = mase.Explainer(lstm_model, method="mase-nlgp", n_samples=600, sigma=0.003, space=TokenScale(step="unit"))(
        TEXTS[1]
    ).scores
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
        found = mase.Explainer(lstm_model, method=method, sigma=0.003, n_samples=400)(TEXTS[1], target=1)
        assert found.scores == pytest.approx(expected, abs=0.02 * float(np.abs(expected).max()))


def test_full_embedding_noise_estimates_the_same_local_slope(lstm_model):
    """The distribution of vec Z is isotropic: <gamma_i, e_i> tends to gradient x input, with a far larger error."""
    scaled = mase.Explainer(lstm_model, method="mase-nlgp", sigma=0.01)(TEXTS[0])
    full = mase.Explainer(
        lstm_model, method="standard-gaussian", sigma=0.01, n_samples=20_000, estimator="least-squares"
    )(TEXTS[0])
    assert (np.abs(full.scores - scaled.scores) < 4 * full.standard_errors).all()
    assert (full.standard_errors > 2 * scaled.standard_errors).all()


def test_full_embedding_is_theorem_1_on_all_entries(small_lstm):
    """Brute force: the whole n x (t d) matrix of noise, Theorem 1 on vec Z, then <gamma_i, e_i>."""
    import torch

    from mase.methods import resolve
    from mase.models import TorchModule
    from mase.models.protocol import Binding
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
    from mase.models.protocol import Binding
    from mase.spaces.cone import Cone
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
    scalar = mase.Explainer(lstm_model, method="mase-nlgp", sigma=0.2, n_samples=80)(text)
    for sigma in (np.full(p, 0.2), 0.04 * np.eye(p), lambda size: 0.04 * np.eye(size)):
        assert mase.Explainer(lstm_model, method="mase-nlgp", sigma=sigma, n_samples=80)(text).scores == pytest.approx(
            scalar.scores, abs=1e-6
        )
    found = mase.Explainer(lstm_model, method="mase-nlgp", sigma=lambda size: np.full(size, 0.2), n_samples=80)(text)
    assert found.method["sigma"] == [0.2] * p
    with pytest.raises(mase.MaseError, match="sigma"):
        mase.Explainer(lstm_model, method="mase-nlgp", sigma=np.ones(3))(text)


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
        ({"granularity": "letter"}, "unit 'letter'"),
            ({"fixed": 3}, "fixed"), ({"fixed": None}, "fixed"),
        ({"background": ["age"]}, "background"), ({"background": {"age": np.nan}}, "background of 'age'"),
            ({"method": "lime-ish"}, "method"), ({"link": "odds"}, "link"),
        ({"reference": "nothing"}, "reference"), ({"design": "circle"}, "design"),
        ({"estimator": "magic"}, "estimator"),
        ({"center": 1.0}, "center given"), ({"sigma": 0.1}, "sigma given"), ({"batch_size": 0}, "batch_size"),
        ({"method": "mase-nlgp", "center": np.nan}, "center is nan"),
        ({"method": "mase-nlgp", "center": "0"}, "center is '0'"),
        ({"method": "mase-nlgp", "sigma": 0.0}, "sigma is 0"),
        ({"method": "mase-nlgp", "sigma": "0.1"}, "sigma is '0.1'"),
        ({"method": "mase-nlgp", "sigma": lambda p: ["0.1"] * p}, "sigma is"),
    ],
)  # fmt: skip
def test_bad_options_name_themselves(lstm_model, options, match):
    with pytest.raises(mase.MaseError, match=match):
        mase.Explainer(lstm_model, **({"n_samples": 40} | options))(TEXTS[0])


@pytest.mark.parametrize(
    ("estimator", "n_samples"),
    [("kernel-ridge", 2), ("kernel-ridge", 3), ("kernel-ridge", 4), ("kernel-ridge", 7),
     ("least-squares", 2), ("least-squares", 10)],
)  # fmt: skip
def test_very_few_samples_answer_or_say_why_not(lstm_model, estimator, n_samples):
    """Eight words."""
    try:
        found = mase.Explainer(lstm_model, n_samples=n_samples, estimator=estimator)(TEXTS[1])
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
