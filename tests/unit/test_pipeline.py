"""Tests of `mase.pipeline`."""

import re

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

import mase
from mase.attribution.json import dumps, from_dict, loads, to_dict
from mase.document import Document, Field
from mase.errors import CapabilityError, DataError, OptionError
from mase.options import Stopping
from mase.pipeline import category_notes
from mase.testing import LogisticClassifier

WORTH = {"good": 1.0, "dull": -2.0, "fine": 0.5, "long": 0.25}
TEXT = "The cast is good! The plot is dull, but fine. It is long. Nothing else."


def explained(**options):
    model = mase.models.Callable(LogisticClassifier(WORTH), ["neg", "pos"])
    explainer = mase.Explainer(model, **{"units": "sentence", "link": "logit", "n_samples": 64} | options)
    return explainer(TEXT, target="pos")


def test_the_words_of_the_strongest_sentences_have_the_scores_of_an_additive_function():
    found = explained(zoom=2)
    assert found.scores.tolist() == pytest.approx([1.0, -1.5, 0.25, 0.0], abs=1e-3)
    expected = dict.fromkeys(["The", "cast", "is", "plot", "but"], 0.0)
    expected |= {"good!": 1.0, "dull,": -2.0, "fine.": 0.5}
    assert "".join(found.zoomed.words) == "".join(TEXT.partition(" It")[0].split())
    assert dict(found.zoomed.as_list()) == pytest.approx(expected, abs=1e-3)
    assert (found.zoomed.target, found.zoomed.method["units"], found.method["zoom"]) == ("pos", "word", 2)
    assert "zoom" not in found.zoomed.method


def test_a_zoom_changes_nothing_else_and_counts_its_own_cost():
    plain, found = explained(), explained(zoom=1)
    assert (plain.zoomed, plain.scores.tolist(), plain.fit.n_queries) == (
        None,
        found.scores.tolist(),
        found.fit.n_queries,
    )
    assert found.zoomed.fit.n_queries > 0
    assert dict(found.zoomed.as_list())["dull,"] == pytest.approx(-2.0, abs=1e-3)


def test_the_rest_stays_in_place():
    seen = []

    def watch(texts):
        seen.extend(texts)
        return [[0.5, 0.5 + 0.01 * len(text)] for text in texts]

    model = mase.models.Callable(watch, ["a", "b"], outputs="logits")
    explainer = mase.Explainer(model, units="sentence", zoom=1, n_samples=64)
    explainer("One two. A much longer sentence than that.")
    assert "One two. A longer sentence than that." in seen
    assert not any("two" in text and "One" not in text for text in seen)


def test_units_of_fields_are_zoomed_in_their_field():
    def predict(records):
        return [[0.0, ("bad" in one["b"]) - 2.0 * ("bad" in one["a"])] for one in records]

    model = mase.models.Callable(predict, ["x", "y"], outputs="logits")
    document = {"a": "So bad.", "b": "So bad."}
    found = mase.Explainer(model, units="line", zoom=1, n_samples=32)(document, target="y").zoomed
    assert [(unit.field, unit.text) for unit in found.units] == [("a", "So"), ("a", "bad.")]
    assert found.scores.tolist() == pytest.approx([0.0, -2.0], abs=1e-3)


def test_json_holds_the_zoomed_attribution_whole():
    found = explained(zoom=2)
    again = loads(dumps(found))
    assert again == found
    assert dumps(again) == dumps(found)
    plain = to_dict(found)
    assert from_dict(plain["zoomed"]) == found.zoomed
    plain["zoomed"]["document"][0]["text"] = plain["document"][0]["text"][:-1] + "?"
    with pytest.raises(DataError, match="zoomed: 'document' is another one"):
        from_dict(plain)
    plain = to_dict(found)
    plain["zoomed"]["units"][0]["text"] = "zzz"
    with pytest.raises(DataError, match=r"zoomed: units\[0\]: 'text'"):
        from_dict(plain)
    plain = to_dict(found)
    plain["zoomed"]["zoomed"] = to_dict(found.zoomed)
    with pytest.raises(DataError, match="zoomed: 'zoomed' is an attribution"):
        from_dict(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zoom": -1}, "zoom is -1, expected an integer >= 0"),
        ({"zoom": True}, "zoom is True"),
        ({"zoom": 1.5}, "zoom is 1.5"),
        ({"zoom": 2, "units": "word"}, "zoom is 2 with units='word', expected larger units"),
    ],
)
def test_what_cannot_be_zoomed(options, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        explained(**options)


def test_empty_categories_that_are_not_fixed_are_told():
    fields = [Field("a", "", value=""), Field("b", " ", value=" "), Field("c", "", fixed=True, value="")]
    fields += [Field("d", "red", value="red"), Field("e", "")]
    (note,) = category_notes(Document(tuple(fields)))
    assert (note.code, "no score: 'a', 'b';" in note.message) == ("empty-category", True)
    assert category_notes(Document(tuple(fields[2:]))) == ()


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "good", "fine", "anti", "##dis", "##est", "##ab"]
TEXT_OF_PIECES = "the good antidisestab fine the"


class Pieces(torch.nn.Module):
    """A model of word pieces: "good" adds 3, "fine" 1, and each piece of the long word 0.01; two of these interact."""

    def __init__(self):
        super().__init__()
        self.worth = torch.nn.Embedding(len(PIECES), 3)
        with torch.no_grad():
            self.worth.weight.zero_()
            for piece, worth in (
                ("good", 3.0),
                ("fine", 1.0),
                ("the", 0.001),
                *((piece, 0.01) for piece in PIECES[8:]),
            ):
                self.worth.weight[PIECES.index(piece), 0] = worth
            self.worth.weight[PIECES.index("##dis"), 1] = self.worth.weight[PIECES.index("##est"), 2] = 1.0

    def forward(self, ids):
        worth, first, second = self.worth(ids).sum(1).T
        return torch.stack([torch.zeros(len(ids)), worth + first * second], 1)


@pytest.fixture(scope="module")
def pieces():
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return mase.models.TorchModule(
        Pieces(), tokenize=tokenizer, mask_id=4, unk_id=1, labels=["neg", "pos"], outputs="logits"
    )


def test_pairs_of_tokens_are_no_pairs_of_words(pieces, tmp_path):
    found = mase.Explainer(pieces, units="token", n_samples=400)(TEXT_OF_PIECES, target="pos")
    assert found.interactions == ()
    found.save(tmp_path / "a.json")
    assert mase.load(tmp_path / "a.json").interactions == ()


@pytest.mark.parametrize("method", ["greedy-search", "beam-search"])
def test_places_of_tokens_are_not_added_up(pieces, method):
    with pytest.raises(CapabilityError, match="use units='word'"):
        mase.Explainer(pieces, method=method, units="token")(TEXT_OF_PIECES)
    found = mase.Explainer(pieces, method=method)(TEXT_OF_PIECES, target="pos")
    assert found.words[found.order[0]] == "good"


def test_a_stopping_rule_is_about_words(pieces):
    """Of the tokens, the third place is never certain: two pieces of the word are equal."""
    explainer = mase.Explainer(pieces, method="lime", units="token", n_samples=1_000, stopping=Stopping(stable_top=3))
    found = explainer(TEXT_OF_PIECES + " the" * 8, target="pos")
    assert found.fit.n_queries < 1_000
    assert "top-unstable" not in {note.code for note in found.notes}
