"""Tests of `mase.windows`."""

from itertools import pairwise
from random import Random

import pytest

import mase
from mase.document import Document
from mase.errors import CapabilityError, InvalidTextError
from mase.models import Chat
from mase.options import Windows
from mase.units import splitter
from mase.windows import LongText, cuts


def test_every_unit_is_in_a_window_that_fits_whatever_the_sizes_are():
    random = Random(0)
    for _ in range(200):
        sizes = [random.choice([1, 2, 3, 30, 200]) for _ in range(random.randrange(1, 60))]
        begins = [random.random() < 0.3 for _ in sizes]
        found = cuts(len(sizes), lambda a, b, sizes=sizes: sum(sizes[a:b]) <= 60, begins, random.choice([0, 0.25, 0.9]))
        assert found[0][0] == 0
        assert found[-1][1] == len(sizes)
        assert all(sum(sizes[first:last]) <= 60 or last == first + 1 for first, last in found)
        assert all(a < c <= b < d for (a, b), (c, d) in pairwise(found))


TEXT = " ".join(f"w{i % 7} w{i % 10} and w{i % 3}." for i in range(200))


LENGTH = 64


PARAGRAPHS = {"windows": True, "n_samples": 20, "units": r"re:(?:[^.]+\.){10}"}


@pytest.fixture(scope="module")
def tiny():
    pytest.importorskip("transformers")
    from tests.unit.models.tiny import family

    module, tokenizer = family("bert", max_position_embeddings=512)
    tokenizer.model_max_length = 512
    return module, tokenizer


@pytest.fixture(scope="module")
def bert(tiny):
    from mase.models.transformers import HuggingFace

    return HuggingFace(*tiny, max_length=LENGTH)


def cut(model, text, *, overlap=0.25, units="word", **options):
    return LongText.of(model, Document.of(text, **options), splitter(units), Windows(overlap))


def uncovered(spans, text):
    """Return the words that are in no window."""
    kept = list(text)
    for start, end in spans:
        kept[start:end] = [""] * (end - start)
    return "".join(kept).split()


def test_every_window_is_as_long_as_the_model_reads_and_every_token_is_in_one(bert):
    long = cut(bert, TEXT)
    lengths = [len(bert.encode(window.document)) for window in long.windows]
    assert all(bert.encode(window.document).truncation is None for window in long.windows)
    assert LENGTH - 5 <= min(lengths) <= max(lengths) <= LENGTH
    assert not uncovered(long.spans, TEXT)
    assert all(TEXT[:end].endswith(".") for _, end in long.spans)
    assert cut(bert, "w1 w2") is None


def test_windows_of_a_book_are_found_by_reading_it_few_times(tiny):
    from mase.models.transformers import HuggingFace

    sizes = []

    class Counting(HuggingFace):
        def encode(self, text):
            sizes.append(len(text.text))
            return super().encode(text)

    spans = cut(Counting(*tiny, max_length=LENGTH), TEXT).spans
    assert sum(sizes) < 30 * len(TEXT)
    assert len(sizes) < 15 * len(spans)


@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_overlap_is_the_share_in_common(bert, overlap):
    spans = cut(bert, TEXT, overlap=overlap).spans
    shares = [(end - start) / (end - first) for (first, end), (start, _) in pairwise(spans)]
    assert all(overlap - 0.01 <= share <= overlap + 0.05 for share in shares[:-1])  # the last begins early


def test_the_longest_free_field_is_read_in_windows_and_the_others_are_whole(bert):
    pair = ("w1 w2 w3", TEXT)
    long = cut(bert, pair)
    assert {window.document.fields[0].text for window in long.windows} == {pair[0]}
    assert {window.field for window in long.windows} == {"text_pair"}
    assert not uncovered(long.spans, TEXT)
    assert all(bert.encode(window.document).truncation is None for window in long.windows)
    with pytest.raises(InvalidTextError, match="'text_pair' fill what"):
        cut(bert, (TEXT, "w1 w2 w3"), fixed=["text"])


@pytest.mark.slow
def test_units_of_the_other_field_come_from_the_window_that_decides(tiny):
    from mase.models.transformers import HuggingFace

    model = HuggingFace(*tiny, max_length=24)
    first, second = "w1 w2 w3", " ".join(f"w{i % 10}" for i in range(40))
    found = mase.Explainer(model, windows=True, method="occlusion")((first, second))
    assert [unit.field for unit in found.units] == ["text"] * 3 + ["text_pair"] * 40
    assert " ".join(unit.text for unit in found.units[3:]) == second
    deciding = next(window for window in found.windows if window.of(found.target).decides)
    plain = mase.Explainer(model, method="occlusion")
    alone = plain((first, second[deciding.start : deciding.end]), target=found.target)
    assert found.scores[:3].tolist() == alone.scores[:3].tolist()


@pytest.mark.slow
def test_twenty_pages_through_a_tiny_bert(tiny):
    from mase.models.transformers import HuggingFace

    text = " ".join([TEXT] * 13)
    assert len(text.split()) > 10_000
    found = mase.Explainer(HuggingFace(*tiny), **PARAGRAPHS | {"n_samples": 6})(text)
    assert len(found.units) == 260
    assert len(found.windows) > 30
    assert {note.code for note in found.notes} <= {"few-samples", "fallback", "poor-fit", "unstable"}


@pytest.mark.slow
def test_twenty_pages_through_the_bundled_lstm():
    text = "The cast is superb, and I loved every minute of it. " * 1000
    found = mase.Explainer("lstm-imdb", **PARAGRAPHS | {"n_samples": 4})(text)
    assert len(found.units) == 100
    assert found.prediction.label == "pos"
    assert found.truncation is None


def test_a_chat_model_reads_no_windows():
    model = Chat(lambda messages: "good", labels=["good", "bad"])
    with pytest.raises(CapabilityError, match="leave windows out"):
        mase.explain("a good film", model, windows=True)
