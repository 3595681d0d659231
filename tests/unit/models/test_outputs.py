"""Tests of `mase.models.outputs`."""

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.modules import TEXT, Around, explain

import mase
from mase.errors import ModelError, NonFiniteError, OptionError
from mase.models import TorchModule
from mase.models.outputs import class_scores
from mase.testing import SmallLSTM, Wrapped, whitespace_ids


@pytest.mark.parametrize(
    "wrap",
    [
        lambda z: z,
        lambda z: (z, "more"),
        lambda z: [z],
        lambda z: z.to_sparse(),
        lambda z: {"loss": None, "logits": z},
        lambda z: transformers.modeling_outputs.SequenceClassifierOutput(logits=z),
        lambda z: z.softmax(dim=1),
        lambda z: {"probs": z.softmax(dim=1)},
    ],
)
def test_returns_of_two_columns(wrap):
    plain, _ = explain(Wrapped(lambda z: z))
    wrapped, _ = explain(Wrapped(wrap))
    assert wrapped.scores == pytest.approx(plain.scores, abs=1e-6)
    assert wrapped.prediction.probability == pytest.approx(plain.prediction.probability, abs=1e-6)


@pytest.mark.parametrize(
    "wrap", [lambda z: z[:, :1], lambda z: z[:, 0], lambda z: z[:, :1].sigmoid(), lambda z: z[:, 0].sigmoid()]
)
def test_one_column_is_the_second_of_two_classes(wrap):
    found, model = explain(Wrapped(wrap), labels=["no", "yes"])
    assert model.labels == ("no", "yes")
    expected = float(Wrapped(lambda z: z[:, 0]).eval()(torch.tensor([whitespace_ids(TEXT)])).sigmoid().detach())
    assert model.predict([TEXT])[0] == pytest.approx([1 - expected, expected])
    assert found.prediction.probability == pytest.approx(max(expected, 1 - expected), abs=1e-6)


@pytest.mark.parametrize("wrap", [lambda z: z, lambda z: z.sigmoid()])
def test_multilabel_classes_are_separate_questions(wrap):
    found, model = explain(Wrapped(wrap, classes=3), multilabel=True, labels=["a", "b", "c"])
    logits = Wrapped(lambda z: z, classes=3).eval()(torch.tensor([whitespace_ids(TEXT)]))
    assert model.predict([TEXT])[0] == pytest.approx(logits.sigmoid().detach().numpy()[0])
    assert sum(found.prediction.probabilities.values()) != pytest.approx(1)


@pytest.mark.parametrize(
    ("wrap", "error"),
    [
        (lambda z: "nothing", ModelError),
        (lambda z: {"other": z}, ModelError),
        (lambda z: z[:-1], ModelError),
        (lambda z: z[:, None], ModelError),
        (lambda z: 1 / 0, ModelError),
        (lambda z: z * float("nan"), NonFiniteError),
        (lambda z: z + float("inf"), NonFiniteError),
    ],
)
def test_unusable_returns(wrap, error):
    with pytest.raises(error):
        explain(Wrapped(wrap))


@pytest.mark.parametrize(
    "output",
    [
        {"start_logits": torch.zeros(1, 3), "end_logits": torch.zeros(1, 3)},
        torch.zeros(1, 4, 3),
        "words",
    ],
)
def test_models_of_other_tasks_are_told_how_to_be_wrapped(output):
    with pytest.raises(ModelError, match=r"mase\.models\.Callable\(lambda texts"):
        class_scores(output, 1)


@pytest.mark.parametrize("frozen", [False, True])
def test_what_scores_are_is_told_of_frozen_weights_too(frozen):
    """One linear logit that lies in [0, 1] is a logit, whoever is trained."""

    class Small(Around):
        def forward(self, ids):
            inner = torch.tanh(super().forward(ids)[:, :1])
            return torch.nn.functional.linear(inner, torch.tensor([[0.4]]), torch.tensor([0.5]))

    module = Small(in_place=False).requires_grad_(not frozen)
    for context in (torch.enable_grad(), torch.inference_mode()):
        with context:
            model = TorchModule(module, tokenize=whitespace_ids, embedding="words", pad_id=0, labels=["no", "yes"])
            raw = module(torch.tensor([whitespace_ids("one two")])).item()
            assert model.predict(["one two"])[0, 1] == pytest.approx(1 / (1 + np.exp(-raw)), abs=1e-6)


def test_linear_logits_of_separate_questions_stay_logits():
    class Small(Around):
        def forward(self, ids):
            return torch.nn.functional.linear(
                torch.tanh(super().forward(ids)), 0.2 * torch.eye(2), torch.tensor([0.5, 0.4])
            )

    model = TorchModule(Small(in_place=False), tokenize=whitespace_ids, embedding="words", multilabel=True)
    raw = model.module(torch.tensor([whitespace_ids("one two")]))[0]
    assert model.predict(["one two"])[0] == pytest.approx(torch.sigmoid(raw).tolist(), abs=1e-6)


def test_softmax_is_known_where_the_entered_layer_has_no_table():
    """Random ids are those of the table that reads them, and not all padding, whose mean over no word is NaN."""

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.words, self.drop, self.head = torch.nn.Embedding(500, 6), torch.nn.Dropout(0.1), torch.nn.Linear(6, 2)

        def forward(self, ids):
            real = (ids != 0).float()[:, :, None]
            return self.head((self.drop(self.words(ids)) * real).sum(dim=1) / real.sum(dim=1)).softmax(dim=1)

    module = Masked().eval()
    expected = module(torch.tensor([whitespace_ids("one two")]))[0].tolist()
    for name in ("words", "drop"):
        model = TorchModule(module, tokenize=whitespace_ids, embedding=name)
        assert model.predict(["one two"])[0] == pytest.approx(expected, abs=1e-6)


def test_a_module_that_squeezes_its_answer_is_explained():
    class Squeezed(Around):
        def forward(self, ids):
            return torch.sigmoid(super().forward(ids)[:, :1]).squeeze()

    model = TorchModule(Squeezed(in_place=False), tokenize=whitespace_ids, embedding="words")
    assert model.predict(["one two"]).shape == (1, 2)
    assert np.abs(mase.Explainer(model, method="occlusion")("one two three").scores).max() > 0


def test_sigmoid_outputs_are_recognised_as_separate_questions():
    model = TorchModule(Wrapped(lambda z: z.sigmoid(), classes=3), tokenize=whitespace_ids)
    expected = Wrapped(lambda z: z.sigmoid(), classes=3).eval()(torch.tensor([whitespace_ids(TEXT)])).detach().numpy()
    assert model.predict([TEXT]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "wrap", [lambda z: z * 0.1 + 0.5, lambda z: z.sigmoid().clamp(1e-6, 1), lambda z: z.sigmoid().detach()]
)
def test_columns_that_may_be_logits_or_probabilities_are_asked_about(wrap):
    with pytest.raises(OptionError, match="outputs='logits', or outputs='probabilities' and multilabel=True"):
        explain(Wrapped(wrap, classes=3))
    logits = TorchModule(Wrapped(wrap, classes=3), tokenize=whitespace_ids, outputs="logits")
    assert logits.predict([TEXT]).sum() == pytest.approx(1)


def test_columns_of_a_linear_layer_are_logits_also_between_0_and_1():
    small = Wrapped(lambda z: z, classes=3)
    with torch.no_grad():
        small.inner.head.weight.mul_(0.01)
        small.inner.head.bias.fill_(0.5)
    assert TorchModule(small, tokenize=whitespace_ids).predict([TEXT]).sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", [lambda z: z, lambda z: z[:, 0]])
def test_one_column_of_a_linear_layer_is_a_logit_also_between_0_and_1(shape):
    module = Wrapped(lambda z: shape(z), classes=1)
    with torch.no_grad():
        module.inner.head.weight.mul_(0.01)
        module.inner.head.bias.fill_(0.5)
    chance = TorchModule(module, tokenize=whitespace_ids, labels=["no", "yes"]).predict([TEXT])[0, 1]
    logit = module.eval()(torch.tensor([whitespace_ids(TEXT)])).sum()
    assert chance == pytest.approx(float(logit.sigmoid().detach()))


def test_probabilities_that_leave_0_to_1_later_are_refused():
    """What 32 random inputs look like is a guess; the text itself may tell otherwise."""
    model = TorchModule(Wrapped(lambda z: z[:, :1].sigmoid() * (1 if len(z) > 1 else 3)), tokenize=whitespace_ids)
    assert model.labels == ("0", "1")
    with pytest.raises(ModelError, match="expected probabilities in \\[0, 1\\]; pass outputs='logits'"):
        mase.Explainer(model)(TEXT)


def test_class_numbers_are_no_scores():
    with pytest.raises(ModelError, match="no class numbers"):
        explain(Wrapped(lambda z: z.argmax(-1), classes=3))


class OneScore(torch.nn.Module):
    """What `wrap` makes of one number per text."""

    def __init__(self, wrap=lambda z: z):
        super().__init__()
        torch.manual_seed(3)
        self.inner, self.wrap = SmallLSTM(1), wrap

    def forward(self, ids):
        return self.wrap(self.inner(ids))


def test_one_column_of_a_module_is_a_class_only_if_somebody_says_so():
    unnamed = TorchModule(OneScore(), tokenize=whitespace_ids)
    for ask in (mase.Explainer(unnamed), lambda text: unnamed.predict([text]), lambda _: unnamed.labels):
        with pytest.raises(OptionError, match="labels="):
            ask("a good film")
    named = {"labels": ["yes"]}, {"labels": ["no", "yes"]}, {"outputs": "logits"}
    predicted = [
        TorchModule(OneScore(), tokenize=whitespace_ids, **said).predict(["a good film"])[0, 1] for said in named
    ]
    assert predicted == [predicted[0]] * 3
    bounded = TorchModule(OneScore(torch.sigmoid), tokenize=whitespace_ids)
    assert bounded.predict(["a good film"])[0, 1] == pytest.approx(predicted[0])
