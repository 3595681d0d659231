"""Tests of `mase.report.slices`: every file is one call with JSON, and the index says where each text is."""

import base64
import json

import numpy as np
import pytest
from tests.attributions import attribution
from tests.runs import run_of

from mase.attribution import Fit, Prediction
from mase.errors import InvalidTextError
from mase.render.numbers import percent, share
from mase.report import slices
from mase.report.entries import Flags, entries
from mase.report.slices import ListWriter


def call(path, function):
    """Return the arguments of the call that a file is."""
    content = path.read_text(encoding="utf-8")
    assert content.startswith(f"{function}(")
    assert content.endswith(")\n")
    return json.loads(f"[{content[len(function) + 1 : -2]}]")


def written(folder, run, flags):
    writer = ListWriter(folder, run.manifest.asked.kept)
    for entry in entries(run, flags):
        writer.add(entry)
    writer.close()
    (index,) = call(folder / "index.js", "mase.index")
    return index


def column(index, name, kind):
    return np.frombuffer(base64.b64decode(index[name]), kind).tolist()


def test_the_index_finds_every_text(tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "TEXTS_PER_SLICE", 2)
    texts = [(attribution(label=label), (label,)) for label in ("pos", "neg", "pos", "neg")]
    texts.insert(3, (("bad", InvalidTextError("no")), ("pos",)))
    run = run_of(tmp_path / "run", texts, kept=["label"], part_size=3)
    index = written(tmp_path, run, Flags("label", None))
    assert (index["starts"], index["rows"], index["kept"]) == ([0, 2, 4, 5], [0, 2, 4], ["label"])
    codes = column(index, "class", "<u2")
    names = [None if code == 0xFFFF else index["classes"][code] for code in codes]
    assert names == ["pos", "neg", "pos", None, "neg"]
    assert column(index, "flags", "u1") == [0, 0, 0, 1, 0]
    probabilities = [p / 0xFFFE for p in column(index, "probability", "<u2") if p != 0xFFFF]
    np.testing.assert_allclose(probabilities, attribution().prediction.probability, atol=1e-5)
    rows = []
    for number in range(3):
        got, found = call(tmp_path / f"texts-{number:05}.js", "mase.texts")
        assert got == number
        _, words = call(tmp_path / f"words-{number:05}.js", "mase.words")
        assert len(words) == len(found)
        rows += [text["row"] for text in found]
    assert rows == [0, 1, 2, 3, 4]


def test_words_say_whether_their_signs_mean_something(tmp_path):
    unsigned = attribution(signed=False, notes=[("unsigned", "no sign")])
    written(tmp_path, run_of(tmp_path / "run", [(attribution(), ()), (unsigned, ())]), Flags())
    _, words = call(tmp_path / "words-00000.js", "mase.words")
    assert [one["signs"] for one in words] == [True, False]


@pytest.mark.parametrize(("p", "said"), [(0.8125, "81.2 %"), (0.99999, "> 99.9 %"), (0.0, "0.0 %"), (2 / 3, "66.7 %")])
def test_the_list_says_the_same_numbers_as_other_pages(tmp_path, p, said):
    prediction = Prediction("pos", 1, p, {"neg": 1 - p, "pos": p}, multilabel=False)
    found = attribution(prediction=prediction, r2=0.125, fit=Fit(0.375, 1.25, 1001, 0, 0.2))
    written(tmp_path, run_of(tmp_path / "run", [(found, ())]), Flags())
    ((_, (text,)),) = [call(tmp_path / "texts-00000.js", "mase.texts")]
    assert (text["chance"], text["r2"], text["halves"]) == (said, share(0.125), share(0.375))
    assert said == percent(p)


def test_nothing_in_a_file_ends_its_script(tmp_path):
    text = "good </script><!-- \u2028\u2029 <script>"
    index = written(tmp_path, run_of(tmp_path / "run", [(attribution(text, label="</script>"), ())]), Flags())
    assert index["classes"] == ["</script>"]
    for path in tmp_path.glob("*.js"):
        content = path.read_bytes()
        assert not [sign for sign in (b"<", "\u2028".encode(), "\u2029".encode()) if sign in content]


def test_more_classes_than_a_filter_has(tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "MOST_CLASSES", 1)
    run = run_of(tmp_path / "run", [(attribution(label=label), ()) for label in ("a", "b", "a")])
    index = written(tmp_path, run, Flags())
    assert index["classes"] == ["a"]
    assert column(index, "class", "<u2") == [0, 0xFFFF, 0]
