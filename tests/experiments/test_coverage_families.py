"""Tests of the script `experiments/coverage_families.py`."""

import json
from types import SimpleNamespace

import pytest
from tests.experiments.scripts import FOLDER, needs_repository, script


@needs_repository
def test_texts_are_told_apart_by_the_verdict_of_most_of_their_explanations(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_families")
    common = {"method": "mase", "n_queries": 100, "scores": list(range(8)), "errors": [0.1] * 8}
    kept = {"kept": list(range(8)), "kept_error": [0.1] * 8}
    shares = {1: [True, True, False], 2: [False, False, True], 3: [True, True, True], 4: [False, False, False]}
    told = [
        common | kept | {"row": row, "seed": seed, "reliable": reliable}
        for row, some in shares.items()
        for seed, reliable in enumerate(some)
    ]
    (tmp_path / "tree.jsonl").write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
    monkeypatch.setattr(module, "HERE", tmp_path)
    module.report(SimpleNamespace(records=tmp_path))
    found = [json.loads(one) for one in (tmp_path / "families.jsonl").read_text().splitlines()]
    assert {one["target"] for one in found} == {"tree"}
    scores = {one["row"]: one["reliable"] for one in found if one["method"] == "mase"}
    assert scores == pytest.approx({1: 2 / 3, 2: 1 / 3, 3: 1, 4: 0})
    rows = [
        line.split(" | ") for line in (tmp_path / "families.md").read_text().splitlines() if line.startswith("| re")
    ]
    assert [row[1] for row in rows] == ["2", "2"] * 2
    assert [float(row[-1].strip(" |")) for row in rows] == pytest.approx([0.83, 0.17] * 2)
