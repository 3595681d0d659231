"""Tests."""

from contextlib import contextmanager
from itertools import pairwise, product

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.models.language.causal_models import FAMILIES, SIZE, byte_tokenizer, causal_model, one_by_one

from mase.errors import CapabilityError, ModelError, NonFiniteError
from mase.models.language import scoring
from mase.models.language.scoring import Branch, Caching, Costs, Forward, Row, Scorer, batches, branches
from mase.models.language.torch import CausalLM


def cost_of(parts, lengths, costs):
    return sum(len(part) * max(lengths[index] for index in part) + costs.per_pass for part in parts)


def in_order(lengths):
    """Yield all ways to cut the rows, in ascending order of length, into batches."""
    order = np.argsort(lengths, kind="stable").tolist()
    for cuts in product((False, True), repeat=len(order) - 1):
        ends = [0, *(index + 1 for index, cut in enumerate(cuts) if cut), len(order)]
        yield [order[first:last] for first, last in pairwise(ends)]


@settings(max_examples=25)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=7), st.integers(0, 20), st.integers(1, 40))
def test_batches_cost_least(lengths, per_pass, most):
    costs = Costs(per_pass, most)
    found = batches(lengths, costs)
    assert sorted(index for part in found for index in part) == list(range(len(lengths)))

    def fits(part):
        return len(part) == 1 or len(part) * max(lengths[index] for index in part) <= most

    assert all(map(fits, found))
    least = min(cost_of(parts, lengths, costs) for parts in in_order(lengths) if all(map(fits, parts)))
    assert cost_of(found, lengths, costs) == least


def test_no_rows_are_no_batches():
    assert batches([], Costs(1, 1)) == []


def read(found, sequences):
    """Return the tokens that each sequence gets from the shared beginnings, checked to be its own."""
    known = [()] * len(sequences)

    def walk(branch):
        for index in range(branch.first, branch.last):
            assert len(known[index]) == branch.start
            known[index] += sequences[branch.first][branch.start : branch.end]
        for inner in branch.branches:
            assert branch.first <= inner.first < inner.last <= branch.last
            walk(inner)

    for branch in found:
        walk(branch)
    return known


@settings(max_examples=25)
@given(st.sets(st.lists(st.integers(0, 1), max_size=6).map(tuple), max_size=12), st.integers(0, 3))
def test_a_shared_beginning_is_that_of_every_sequence(found, per_pass):
    sequences = sorted(found)
    for known, sequence in zip(read(branches(sequences, per_pass), sequences), sequences, strict=True):
        assert sequence[: len(known)] == known


def test_beginnings_are_shared_where_they_pay():
    sequences = sorted(
        [(*range(10), 20), (*range(10), 21), (*range(10), 22, *range(9), 1), (*range(10), 22, *range(9), 2)]
    )
    assert branches(sequences, 5) == (Branch(0, 4, 0, 10),)
    inner = (Branch(2, 4, 10, 20),)
    assert branches(sequences, 4) == (Branch(0, 4, 0, 10, inner),)
    assert branches(sequences, 16) == ()


@pytest.mark.slow
def test_beginnings_may_be_nested_as_deep_as_there_are_sequences():
    found = branches(sorted((*[0] * k, 1) for k in range(256)), 0)
    for depth in range(254):
        (branch,) = found
        assert (branch.first, branch.last, branch.start, branch.end) == (0, 255 - depth, depth, depth + 1)
        found = branch.branches
    assert found == ()


def test_a_beginning_that_only_some_share_needs_no_other_one():
    sequences = sorted([(0, 1), *((0, 2, *range(20), end) for end in range(3))])
    assert branches(sequences, 5) == (Branch(1, 4, 0, 22),)


@pytest.mark.parametrize("n", [0, 1])
def test_one_sequence_shares_nothing(n):
    assert branches([(1, 2, 3)][:n], 0) == ()


def test_what_is_known_is_not_computed_and_costs_one_pass():
    assert branches([(1, 2, 3, 4)], 2, [3]) == (Branch(0, 1, 0, 3, known=True),)
    assert branches([(1, 2, 3, 4)], 3, [3]) == ()
    sequences = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 7), (1, 2, 3, 8), (1, 2, 3, 9), (9, 9)]
    assert branches(sequences, 4, [4, 4, 3, 3, 0]) == (Branch(0, 4, 0, 3, known=True),)
    longer = [(*range(20), end) for end in (1, 2)]
    assert branches(longer, 4, [8, 8]) == (Branch(0, 2, 0, 8, (Branch(0, 2, 8, 20),), known=True),)


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
@pytest.mark.slow
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
@pytest.mark.slow
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


@pytest.mark.parametrize("is_decoder", [False, True])
def test_a_model_that_reads_ahead_is_refused(is_decoder):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    module = transformers.BertLMHeadModel(transformers.BertConfig(vocab_size=SIZE, is_decoder=is_decoder, **sizes))
    for weights in module.parameters():
        torch.nn.init.normal_(weights, 0, 0.4)
    model = CausalLM(module, byte_tokenizer())
    if is_decoder:
        assert model.log_probabilities(["the sky"], [model.continuation(" is")])[0].shape == (1, 1)
    else:
        with pytest.raises(CapabilityError, match="is_decoder"):
            model.log_probabilities(["the sky"], [model.continuation(" is")])


def with_logit(value):
    """Return a model that has the same logit for one token, wherever it stands."""
    module = causal_model()
    module.lm_head.bias = torch.nn.Parameter(torch.zeros(SIZE))
    with torch.no_grad():
        module.lm_head.bias[7] = value
    return CausalLM(module, byte_tokenizer())


def test_a_token_that_is_never_written_is_no_other_answer():
    model = with_logit(float("-inf"))
    answer = model.continuation(" is")
    found = model.log_probabilities(["the sky"], [answer])[0][0]
    np.testing.assert_allclose(
        found, one_by_one(model.module, model.tokenizer.prompt("the sky"), answer.ids), atol=1e-4
    )


def test_what_is_no_number_is_not_taken_for_reading_ahead():
    model = with_logit(float("nan"))
    with pytest.raises(NonFiniteError, match="NaN"):
        model.generate("the sky", 3)
