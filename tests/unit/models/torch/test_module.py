"""Tests of `mase.models.torch.module`."""

import pytest
import torch
import transformers
from tests.unit.models.modules import TEXT, explain
from tests.unit.models.tiny import family
from tokenizers import Tokenizer, models, pre_tokenizers

import mase
from mase.errors import CapabilityError, EmptyTextError, ModelError, OptionError, ShapeError
from mase.models import Callable, TorchModule
from mase.testing import SmallLSTM, Wrapped, check_model, whitespace_ids
from mase.text import find_words


class Plain(torch.nn.Module):
    """A module that torch.jit can read."""

    def __init__(self):
        super().__init__()
        self.words, self.head = torch.nn.Embedding(500, 4), torch.nn.Linear(4, 2)

    def forward(self, ids):
        return self.head(self.words(ids).mean(dim=1))


@pytest.mark.parametrize("name", [None, "words"])
@pytest.mark.parametrize(
    "made", [torch.jit.script, lambda module: torch.jit.trace(module, torch.ones(2, 3, dtype=int))]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_scripted_module_has_no_layer_to_perturb(made, name):
    with pytest.raises(CapabilityError, match=r"torch\.jit.*before scripting, .*mase\.models\.Callable"):
        TorchModule(made(Plain()), tokenize=whitespace_ids, embedding=name)


def test_a_layer_that_there_is_not_is_an_error():
    with pytest.raises(CapabilityError, match=r"no layer 'embed', expected one of: inner, inner\.words"):
        TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids, embedding="embed")


SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (transformers.ViTForImageClassification, transformers.ViTConfig(image_size=32, patch_size=16, **SIZES)),
        (transformers.ASTForAudioClassification, transformers.ASTConfig(**SIZES)),
    ],
)
def test_a_model_of_images_or_sounds_is_refused(kind, config):
    _, tokenizer = family("bert")
    with pytest.raises(CapabilityError, match=r"reads (pixel|input)_values, expected a model that reads texts"):
        mase.Explainer(kind(config), tokenizer)


def test_constant_model_scores_zero_and_says_so():
    found, _ = explain(Wrapped(lambda z: z * 0 + 2))
    assert not found.scores.any()
    assert not found.standard_errors.any()
    assert [note.code for note in found.notes] == ["constant"]


def test_tokenizers():
    def with_spans(text):
        return [11, 12], [(0, 4), (5, 7)]

    model = TorchModule(SmallLSTM(), tokenize=with_spans)
    assert mase.Explainer(model, n_samples=40)("some thing").words == ("some", "thing")
    assert TorchModule(SmallLSTM(), tokenize=lambda text: torch.tensor([11, 12])).encode("a b").spans == (
        (0, 1),
        (2, 3),
    )
    with_special = TorchModule(SmallLSTM(), tokenize=lambda text: [5, *whitespace_ids(text), 6], special_ids=[5, 6])
    tokens = with_special.encode("a b")
    assert tokens.fixed == (True, False, False, True)
    found = mase.Explainer(with_special, n_samples=40)("a b")
    assert found.responses[0].token_scores is None
    with pytest.raises(ShapeError, match="3 ids for a text of 2 whitespace words"):
        TorchModule(SmallLSTM(), tokenize=lambda text: [11, 12, 13]).encode("a b")
    with pytest.raises(ShapeError, match="1 spans"):
        TorchModule(SmallLSTM(), tokenize=lambda text: ([11, 12], [(0, 1)])).encode("a b")
    without = TorchModule(SmallLSTM(), tokenize=lambda text: [])
    with pytest.raises(EmptyTextError):
        without.encode(" ")


@pytest.mark.parametrize("options", [{}, {"windows": True, "units": "sentence"}])
def test_words_that_the_tokenizer_leaves_out_are_told(options):
    def known(text):
        spans = [(start, end) for start, end in find_words(text) if text[start:end].startswith("w")]
        return [11] * len(spans), spans

    explainer = mase.Explainer(TorchModule(SmallLSTM(), tokenize=known, max_length=5), n_samples=40, **options)
    (note,) = (note for note in explainer("w1 un known. w2 w3.").notes if note.code == "unread-words")
    assert "'un', 'known':" in note.message
    assert "unread-words" not in [note.code for note in explainer("w1 w2. w3.").notes]


@pytest.mark.parametrize(("keep", "expected"), [("start", ("this", "is", "a")), ("end", (",", "though", "slow"))])
def test_truncation_is_reported(keep, expected):
    found, _ = explain(SmallLSTM(), max_length=3, keep=keep)
    assert found.words == expected
    assert (found.truncation.n_kept, found.truncation.n_total, found.truncation.kept) == (3, 9, keep)


def test_padding_is_no_coordinate():
    model = TorchModule(SmallLSTM(), tokenize=lambda text: [0, 0, *whitespace_ids(text)], pad_id=0)
    found = mase.Explainer(model, n_samples=40, units="token")(TEXT)
    assert found.responses[0].token_scores[:2] == (0.0, 0.0)
    assert len(found.words) == len(TEXT.split())


def test_a_word_that_is_the_reference_scores_exactly_zero():
    module = SmallLSTM()
    model = TorchModule(
        module,
        tokenize=lambda text: [
            2 if w == "good" else i for w, i in zip(text.split(), whitespace_ids(text), strict=True)
        ],
        mask_id=2,
    )
    found = mase.Explainer(model, reference="mask", n_samples=100)(TEXT)
    scores = dict(found.as_list())
    assert scores["good"] == 0.0
    assert scores["film"] != 0.0


def test_labels():
    assert TorchModule(SmallLSTM(), tokenize=whitespace_ids).labels == ("0", "1")
    with pytest.raises(ShapeError, match="2 columns, expected 3"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, labels=["a", "b", "c"]).predict([TEXT])
    with pytest.raises(OptionError, match="all different"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, labels=["a", "a"])


def test_plain_and_contract(lstm_model):
    check_model(lstm_model, TEXT)
    check_model(Callable(lambda texts: [[len(t) / 100, 1 - len(t) / 100] for t in texts]), TEXT)


def test_references_that_a_model_does_not_have(lstm_model):
    with pytest.raises(CapabilityError, match="unk, zero"):
        mase.Explainer(TorchModule(SmallLSTM(), tokenize=whitespace_ids, unk_id=1), reference="mask")
    with pytest.raises(OptionError, match="has no reference"):
        mase.Explainer(lstm_model, method="mase-cone", reference="mask")


@pytest.mark.parametrize("write", [lambda ids: ids.add_(1), lambda ids: ids.view(-1), lambda ids: ids[:, 0].fill_(5)])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_modules_may_write_to_their_input(write, batch_size):
    class Writes(SmallLSTM):
        def forward(self, ids):
            answer = super().forward(ids)
            write(ids)
            return answer

    torch.manual_seed(3)
    module = Writes()
    torch.manual_seed(3)
    plain = mase.Explainer(TorchModule(SmallLSTM(), tokenize=whitespace_ids), n_samples=60)(TEXT)
    found = mase.Explainer(TorchModule(module, tokenize=whitespace_ids), n_samples=60, batch_size=batch_size)(TEXT)
    assert found.scores == pytest.approx(plain.scores, abs=1e-6)


def test_modules_of_one_input_length():
    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(500, 4, padding_idx=0)
            self.head = torch.nn.Linear(20 * 4, 2)

        def forward(self, ids):
            return self.head(self.embed(ids).flatten(1))

    def padded(text):
        ids = whitespace_ids(text)
        return ids + [0] * (20 - len(ids))

    found = mase.Explainer(TorchModule(Flat(), tokenize=padded, labels=["a", "b"], pad_id=0), n_samples=100)(TEXT)
    assert found.words == tuple(TEXT.split())
    assert [token.unit for token in found.tokens[9:]] == [None] * 11
    assert TorchModule(Flat(), tokenize=padded, pad_id=0).predict([TEXT, "good"]).shape == (2, 2)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda text: 1 / 0, ModelError), (lambda text: None, ShapeError), (lambda text: "ids", ShapeError),
        (lambda text: torch.ones(1, 3), ShapeError), (lambda text: [1.5, 2.5], ShapeError),
        (lambda text: ([11], [(0, 99)]), ShapeError), (lambda text: ([11], [(-3, 2)]), ShapeError),
        (lambda text: ([11], [(3, 1)]), ShapeError), (lambda text: ([11], [5]), ShapeError),
    ],
)  # fmt: skip
def test_what_tokenize_returns_is_checked(answer, error):
    with pytest.raises(error, match="tokenize"):
        TorchModule(SmallLSTM(), tokenize=answer).encode("some text")


def test_spans_may_come_as_lists():
    assert TorchModule(SmallLSTM(), tokenize=lambda text: [[11, 12], [[0, 4], [5, 9]]]).encode("some text").spans == (
        (0, 4),
        (5, 9),
    )


def test_modules_and_labels_of_another_type():
    with pytest.raises(OptionError, match=r"torch\.nn\.Module"):
        TorchModule(3, tokenize=whitespace_ids)
    with pytest.raises(OptionError, match="one name per class"):
        TorchModule(SmallLSTM(), tokenize=whitespace_ids, labels="ab")


class Masked(SmallLSTM):
    def forward(self, ids, mask):
        return super().forward(ids * mask)


class OfBatch(SmallLSTM):
    def forward(self, batch):
        return super().forward(batch["ids"])


class LastFirst(SmallLSTM):
    def forward(self, ids):
        return self.words(ids), super().forward(ids)


class AroundMasked(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, ids):
        return self.module(ids, torch.ones_like(ids))


@pytest.mark.parametrize("kind", [Masked, OfBatch, LastFirst])
def test_a_module_of_another_form_is_told_how_to_be_wrapped(kind):
    with pytest.raises(ModelError, match=r"called with ids \(b, t\) alone .* forward\(ids\) calls it"):
        mase.Explainer(TorchModule(kind(), tokenize=whitespace_ids))(TEXT)


def test_a_module_around_another_has_its_scores():
    torch.manual_seed(3)
    around = AroundMasked(Masked())
    torch.manual_seed(3)
    plain = mase.Explainer(TorchModule(SmallLSTM(), tokenize=whitespace_ids), n_samples=60)(TEXT)
    found = mase.Explainer(TorchModule(around, tokenize=whitespace_ids), n_samples=60)(TEXT)
    assert found.scores.tolist() == plain.scores.tolist()


def test_tokenizers_that_are_no_functions_of_a_text():
    for tokenize in ({"good": 1}, None):
        with pytest.raises(OptionError, match="expected a tokenizer of tokenizers or transformers, or a function"):
            mase.Explainer(TorchModule(SmallLSTM(), tokenize=tokenize))


class Weighted(Plain):
    """A module that takes something else beside the ids."""

    def forward(self, ids, mask=None):
        vectors = self.words(ids)
        return self.head((vectors if mask is None else vectors * mask[..., None]).mean(dim=1))


def tokenizer_of(text):
    words = dict.fromkeys(["[UNK]", *text.split()])
    result = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    result.pre_tokenizer = pre_tokenizers.Whitespace()
    return result


@pytest.mark.parametrize("made", [Plain, Weighted])
def test_a_module_is_called_with_ids_alone(made):
    model = TorchModule(made(), tokenize=tokenizer_of(TEXT), labels=["a", "b"])
    found = mase.explain(TEXT, model, n_samples=30)
    assert model.predict([TEXT])[0] == pytest.approx([*found.prediction.probabilities.values()], abs=1e-6)


@pytest.mark.parametrize(("side", "kept"), [("right", "a b c"), ("left", "c d e")])
def test_a_tokenizer_that_cuts_off_is_followed(side, kept):
    tokenizer = tokenizer_of("a b c d e")
    tokenizer.enable_truncation(3, direction=side)
    tokens = TorchModule(Plain(), tokenize=tokenizer).encode("a b c d e")
    assert tokens.pieces == tuple(kept.split())
    assert len(TorchModule(Plain(), tokenize=tokenizer, max_length=4).encode("a b c d e")) == 4
