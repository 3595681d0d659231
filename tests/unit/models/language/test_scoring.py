from contextlib import contextmanager

import numpy as np
import pytest
from tests.unit.models.language.causal_models import FAMILIES, causal_model, one_by_one

from mase.errors import ModelError
from mase.models.language import scoring
from mase.models.language.forward import Forward
from mase.models.language.plan import Costs
from mase.models.language.scoring import Row, Scorer
from mase.models.language.trial import Caching

BEGINNING = tuple(range(3, 23))
ROWS = [
    Row((*BEGINNING, *middle, 7, 8, *answer), len(BEGINNING) + len(middle) + 2)
    for middle in (
        (),
        (30, 31, 32, 33),
        (30, 31, 32, 33, 34, 35, 36, 37, 38, 39),
        tuple(range(40, 50)),
        (30, 31, 32, 33),
    )
    for answer in ((9,), (10,), (9, 10, 11))
]


@contextmanager
def recorded(module):
    """Yield the shapes `(b, t)` of the ids and the numbers of positions at the head of each pass."""
    passes, positions = [], []
    layer, head = module.get_input_embeddings(), module.get_output_embeddings()
    hooks = [
        layer.register_forward_hook(lambda _layer, args, _output: passes.append(tuple(args[0].shape))),
        head.register_forward_hook(lambda _layer, args, _output: positions.append(args[0].shape[:-1].numel())),
    ]
    try:
        yield passes, positions
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("family", FAMILIES)
def test_log_probabilities_are_those_of_each_row_alone(family, monkeypatch):
    monkeypatch.setattr(scoring, "CPU", Costs(3, 60))
    module = causal_model(family)
    scorer = Scorer(Forward(module))
    for row, found in zip(ROWS, scorer.log_probabilities(ROWS), strict=True):
        np.testing.assert_allclose(found, one_by_one(module, row.ids[: row.start], row.ids[row.start :]), atol=1e-4)
    assert scorer.tried == Caching(family != "Mamba", family not in ("Mamba", "Gemma2", "Mistral"))


def test_tokens_are_computed_once_and_logits_only_where_they_are_asked(monkeypatch):
    monkeypatch.setattr(scoring, "CPU", Costs(0, 10**6))
    module = causal_model()
    scorer = Scorer(Forward(module), tried=Caching(True, True))
    with recorded(module) as (passes, positions):
        scorer.log_probabilities(ROWS)
    distinct = {row.ids[:length] for row in ROWS for length in range(1, len(row.ids))}
    asked = {row.ids[:length] for row in ROWS for length in range(row.start, len(row.ids))}
    assert sum(rows * width for rows, width in passes) == len(distinct)
    assert sum(positions) - sum(count == 1 for count in positions) <= len(asked) <= sum(positions)


def test_without_a_cache_each_sequence_is_read_once():
    module = causal_model("Mamba")
    scorer = Scorer(Forward(module), tried=Caching(False, False))
    with recorded(module) as (passes, positions):
        scorer.log_probabilities(ROWS)
    distinct = {row.ids[:-1] for row in ROWS}
    assert sum(rows for rows, _ in passes) == len(distinct)
    assert sum(positions) == sum({row.ids[:-1]: len(row.ids) - row.start for row in ROWS}.values())


def test_batches_are_halved_when_memory_runs_out(monkeypatch):
    module = causal_model()
    expected = Scorer(Forward(module), tried=Caching(False, False)).log_probabilities(ROWS)

    refused = []

    def refuse(_layer, args):
        if args[0].numel() > limit:
            refused.append(args[0].numel())
            raise RuntimeError("not enough memory: you tried to allocate 9 bytes")

    module.get_input_embeddings().register_forward_pre_hook(refuse)
    limit = 70
    scorer = Scorer(Forward(module), tried=Caching(False, False))
    for found, known in zip(scorer.log_probabilities(ROWS), expected, strict=True):
        np.testing.assert_allclose(found, known, atol=1e-5)
    assert refused
    refused.clear()
    for _ in range(4):  # each time memory runs out, later batches have half as many tokens
        scorer.log_probabilities(ROWS)
    assert len(refused) < 4
    limit = 10
    for continues in (False, True):
        with pytest.raises(ModelError, match="single"):
            Scorer(Forward(module), tried=Caching(continues, continues)).log_probabilities(ROWS)
    with pytest.raises(ModelError, match="single"):
        Scorer(Forward(module), tried=Caching(True, True)).greedy(BEGINNING, 2, ())


def test_many_sequences_are_planned_in_groups(monkeypatch):
    module = causal_model()
    scorer = Scorer(Forward(module))
    expected = scorer.log_probabilities(ROWS)
    monkeypatch.setattr(scoring, "AT_ONCE", 4)
    for found, known in zip(scorer.log_probabilities(ROWS), expected, strict=True):
        np.testing.assert_allclose(found, known, atol=1e-5)


def test_a_model_without_a_head_of_its_own_is_read_as_well():
    module = causal_model()
    expected = Scorer(Forward(module)).log_probabilities(ROWS[:3])
    module.get_output_embeddings = lambda: None
    for found, known in zip(Scorer(Forward(module)).log_probabilities(ROWS[:3]), expected, strict=True):
        np.testing.assert_allclose(found, known, atol=1e-5)


READ = (*BEGINNING, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 7)
CROSSING = Row((*BEGINNING, 30, 31, 32), len(BEGINNING))  # its answer stands in what was read, too


@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_read_before_changes_nothing(family, monkeypatch):
    monkeypatch.setattr(scoring, "CPU", Costs(3, 60))
    module = causal_model(family)
    scorer = Scorer(Forward(module))
    read = scorer.reading(READ)
    assert (read is not scorer) == scorer.tried.shortens
    rows = [*ROWS, CROSSING]
    for row, found in zip(rows, read.log_probabilities(rows), strict=True):
        np.testing.assert_allclose(found, one_by_one(module, row.ids[: row.start], row.ids[row.start :]), atol=1e-4)
    for ids in (READ, (*READ, 8), BEGINNING, (50, 51)):
        assert read.greedy(ids, 4, ()) == scorer.greedy(ids, 4, ())


def test_what_was_read_is_not_computed_again(monkeypatch):
    monkeypatch.setattr(scoring, "CPU", Costs(0, 10**6))
    module = causal_model()
    scorer = Scorer(Forward(module), tried=Caching(True, True)).reading(READ)
    rows = [*ROWS, CROSSING]
    with recorded(module) as (passes, _):
        assert scorer.reading(READ) is scorer
        assert not passes
        scorer.log_probabilities(rows)
    asked = {row.ids[:length] for row in rows for length in range(row.start, len(row.ids))}
    distinct = {row.ids[:length] for row in rows for length in range(1, len(row.ids))}
    known = {READ[:length] for length in range(1, len(READ) + 1)}
    computed = sum(count * width for count, width in passes)
    assert len(distinct - known) <= computed <= len((distinct - known) | asked)


def test_a_window_that_is_full_is_not_shortened():
    module = causal_model("Mistral", sliding_window=28)  # longer than the trial
    scorer = Scorer(Forward(module))
    assert scorer.reading(READ) is scorer
    assert scorer.tried == Caching(True, True)
    assert scorer.reading(BEGINNING) is not scorer


def two_sets_of_frequencies():
    """Return a model that encodes all positions of a row of more than 25 tokens with other frequencies."""
    frequencies = {"short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 4.0, 8.0, 16.0]}
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 25} | frequencies
    return causal_model("Llama", rope_parameters=rope)


@pytest.mark.parametrize("read", [(), BEGINNING, READ])
def test_frequencies_are_those_of_the_length_of_each_row(read, monkeypatch):
    monkeypatch.setattr(scoring, "CPU", Costs(3, 200))
    module = two_sets_of_frequencies()
    scorer = Scorer(Forward(module)).reading(read)
    for row, found in zip(ROWS, scorer.log_probabilities(ROWS), strict=True):
        np.testing.assert_allclose(found, one_by_one(module, row.ids[: row.start], row.ids[row.start :]), atol=1e-4)


@pytest.mark.parametrize(("read", "prompt"), [((), READ[:23]), (BEGINNING, READ[:23]), (READ[:25], READ[:26])])
def test_an_answer_goes_on_with_the_frequencies_of_its_length(read, prompt):
    forward = Forward(two_sets_of_frequencies())
    without_cache = Scorer(forward, tried=Caching(False, False))
    assert Scorer(forward).reading(read).greedy(prompt, 8, ()) == without_cache.greedy(prompt, 8, ())
