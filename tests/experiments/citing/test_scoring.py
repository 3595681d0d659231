"""Tests of the script `experiments/citing/scoring.py`."""

import json
from types import SimpleNamespace

import numpy as np
from tests.experiments.scripts import FOLDER, needs_repository, script

CASE = SimpleNamespace(context="one two", query="what?", spans=[(0, 3), (4, 7)])


class Model:
    """A language model whose answer has one token, and whose log-probability is that of the length of the prompt."""

    tokenizer = SimpleNamespace(decode=str)

    def answer(self, case):
        return [7]

    def ids(self, context, query):
        return [1] * len(context)

    def log_probabilities(self, prompts, answer):
        return -np.array([[float(len(prompt))] for prompt in prompts])


@needs_repository
def test_rows_that_a_kill_cut_off_are_asked_again(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER / "citing"))
    module = script("citing/scoring")
    file, masks = tmp_path / "a.rows.jsonl", np.array([[True, True], [True, False]])
    expected = module.Scorer(Model(), CASE, file).log_probabilities(masks)
    content = file.read_text()
    file.write_text(content[:-9])
    again = module.Scorer(Model(), CASE, file)
    assert again.n_known == 1
    assert (again.log_probabilities(masks) == expected).all()
    assert file.read_text() == content
    assert len([json.loads(line) for line in content.splitlines()]) == 3
