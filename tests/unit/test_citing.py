import numpy as np
import pytest
from tests.splitters import Fixed
from tests.unit.models.language.fake import Fake

import mase
from mase import citing
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, OptionError, UnitsError
from mase.models.language.answers import Generated
from mase.options import Windows

# Red is said of the rose, Blue of the sea: the model finds each in one sentence.
WEIGHTS, SHARES = {"rose": 2.0, "sea": 3.0}, {"rose": (0,), "sea": (1,)}
CONTEXT = {"flowers.txt": "The rose is red. Tulips are tall.", "water.txt": "The sea is blue."}


def cited(context=CONTEXT, **options):
    model = Fake(WEIGHTS, SHARES, says="Red. Blue.")
    options = {"query": "Which colours?", "n_samples": 32, "link": "log-probability", **options}
    return model, mase.cite(model, context=context, **options)


def test_every_part_of_the_answer_has_its_sources():
    model, found = cited()
    assert [response.name for response in found.responses] == ["answer", "Red.", "Blue."]
    assert [(part.start, part.end, part.response) for part in found.answer.parts] == [(0, 4, "Red."), (5, 10, "Blue.")]
    assert found.answer.text == "Red. Blue."
    assert found.answer.generated
    table = np.array([response.scores for response in found.responses])
    assert table == pytest.approx(np.array([[2, 0, 3], [2, 0, 0], [0, 0, 3.0]]), abs=1e-9)
    assert [(unit.field, unit.text) for unit in found.units] == [
        ("flowers.txt", "The rose is red."), ("flowers.txt", "Tulips are tall."), ("water.txt", "The sea is blue.")
    ]  # fmt: skip
    assert found.document[-1].fixed
    assert 2**3 < found.fit.n_queries <= 2**3 + 4  # one of each subset, and the checks of determinism
    whole = "Context: The rose is red. Tulips are tall.\n\nThe sea is blue.\n\nQuery: Which colours?"
    assert model.prompts[0][0]["content"] == whole


def test_a_given_answer_is_not_generated():
    model, found = cited(answer="Green.")
    assert (model.n_generated, found.answer.generated, len(found.responses)) == (0, False, 1)
    assert found.answer.parts[0].response == "answer"


def test_an_answer_rather_than_another():
    _, found = cited(answer="Red. Blue.", against="Red.", link=None)
    assert found.title == "answer rather than Red."
    assert found.link == "log-probability"
    assert found.scores == pytest.approx([0, 0, 3], abs=1e-9)
    assert found.response == pytest.approx(-3 + 3)


def test_log_odds_by_default_and_a_round_trip(tmp_path):
    _, found = cited(link=None, units="document")
    assert found.link == "logit"
    assert found.words == tuple(CONTEXT.values())
    found.save(tmp_path / "a.json")
    assert mase.load(tmp_path / "a.json") == found
    assert set(found.to_frame()["response"]) == {"answer", "Red.", "Blue."}


def test_parts_are_spans_or_units():
    assert [part.response for part in cited(parts=[(0, 3)])[1].answer.parts] == ["Red"]
    assert len(cited(parts="word")[1].answer.parts) == 2
    assert [part.response for part in cited(parts="document")[1].answer.parts] == ["answer"]
    for wrong in ([(0, 99)], [3], [(0, 1, 2)], "colour"):
        with pytest.raises((OptionError, mase.MaseError)):
            cited(parts=wrong)
    for wrong in ([(0.5, 3)], [("0", 3)], [3], [(0, 1, 2)], ["ab"], [None]):
        with pytest.raises(OptionError, match=r"parts is .*, expected spans, as in \[\(0, 12\)\]"):
            cited(parts=wrong)
    assert cited(parts=[(np.int64(0), np.int64(3))])[1].answer.parts[0].end == 3


def test_the_spans_of_any_splitter_are_checked_and_sorted():
    assert [part.response for part in cited(parts=Fixed([(5, 10), (0, 4)]))[1].answer.parts] == ["Red.", "Blue."]
    for spans in ([(0, 5), (4, 7)], [(0, 4), (8, 14)], None):
        with pytest.raises(UnitsError, match="fixed"):
            cited(parts=Fixed(spans))


@pytest.mark.parametrize("parts", ["word", "nonsense", [(0, 3)]])
def test_parts_and_another_answer_are_not_given_together(parts):
    with pytest.raises(OptionError, match="parts and against are both given, expected one of the two"):
        cited(answer="Red. Blue.", against="Red.", parts=parts)


@pytest.mark.parametrize(
    ("context", "error"),
    [
        ("", EmptyTextError),
        (" \n", EmptyTextError),
        ([], InvalidTextError),
        ({}, InvalidTextError),
        (b"bytes", InvalidTextError),
        (3, InvalidTextError),
        ([3], InvalidTextError),
        ({"query": "x"}, InvalidTextError),
        ({"answer": "x"}, InvalidTextError),
        ({1: "x"}, InvalidTextError),
        ("\ud800", InvalidTextError),
    ],
)
def test_other_contexts_are_refused(context, error):
    with pytest.raises(error):
        cited(context)


def test_several_texts_have_numbers():
    assert [field.name for field in cited(["One rose.", "Two."])[1].document] == ["source 1", "source 2", "query"]


def test_a_context_without_a_question():
    model, found = cited("The rose is red.", query="")
    assert [field.name for field in found.document] == ["context"]
    assert model.prompts[0][0]["content"] == "The rose is red."


def test_no_language_model_is_refused():
    for wrong in (lambda texts: texts, 3, Fake):
        with pytest.raises(OptionError, match="language model"):
            mase.cite(wrong, context="x")


@pytest.mark.parametrize("options", [{"windows": True}, {"windows": Windows(pooling="max")}])
def test_a_prompt_has_no_windows(options):
    with pytest.raises(CapabilityError):
        cited(**options)


def test_an_answer_without_units_is_to_the_prompt_that_is_scored_without_them():
    model, found = cited(units="sentence")
    prompted = citing.Prompted.of(model, context=CONTEXT, query="Which colours?")
    answered = prompted.answered(prompted.generate(8), generated=True)
    for units in ([0], [0, 1], [0, 1, 2]):
        answered.explainer.predict_without(found, units)
        scored = model.prompts[-1]
        prompted.generate_without(found, units, 8)
        assert model.prompts[-1] == scored
    with pytest.raises(OptionError, match="unit is 3"):
        prompted.generate_without(found, [3], 8)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
@pytest.mark.parametrize("answer", [None, "Green."])
def test_a_number_of_tokens_that_is_none_is_refused(wrong, answer):
    with pytest.raises(OptionError, match="max_new_tokens"):
        cited(answer=answer, max_new_tokens=wrong)


def test_an_answer_that_was_cut_off_is_told():
    _, whole = cited(max_new_tokens=2)
    _, cut = cited(max_new_tokens=1)
    _, given = cited(answer="Red.", max_new_tokens=1)
    assert (whole.answer.text, cut.answer.text) == ("Red. Blue.", "Red.")
    assert ["answer-cut" in [note.code for note in found.notes] for found in (whole, cut, given)] == [
        False,
        True,
        False,
    ]
    (note,) = [note for note in cut.notes if note.code == "answer-cut"]
    assert "max_new_tokens" in note.message


@pytest.mark.parametrize("context", [set(CONTEXT), frozenset(CONTEXT), {"a": 1}.keys(), b"The rose", 5])
def test_a_context_without_an_order_is_refused(context):
    with pytest.raises(InvalidTextError, match="context is of type"):
        cited(context)


def test_a_column_is_a_context_and_a_table_is_none():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": list(CONTEXT.values())})
    with pytest.raises(InvalidTextError, match="one column"):
        cited(table)
    assert [unit.field for unit in cited(table["text"])[1].units] == ["source 1", "source 1", "source 2"]


def test_a_model_that_generates_keeps_its_template_and_length():
    model = Generated(Fake(WEIGHTS, SHARES, says="Red. Blue."), template="{query} {context}", max_new_tokens=3)
    found = mase.cite(model, context="The rose is red.", query="Which?", n_samples=8)
    assert found.model["template"] == "{query} {context}"
    assert model.language_model.prompts[0] == "Which? The rose is red."
    other = mase.cite(model, context="The rose is red.", query="Which?", n_samples=8, template="{context} {query}")
    assert other.model["template"] == "{context} {query}"
