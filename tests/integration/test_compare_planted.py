"""A word that a second model learned wrongly is found in 150 texts, whatever the kind of the model."""

import numpy as np
import pytest
from tests.runs import made_up_texts, write_run

import mase

pytest.importorskip("duckdb")
GOOD, BAD = ["superb", "good", "fine", "bright", "warm"], ["dull", "bad", "awful", "slow", "flat"]
NEUTRAL = ["film", "plot", "cast", "scene", "music", "actor", "story", "ending", "hour", "camera", "script", "role"]
TRAINING = made_up_texts(500, [*GOOD, *BAD, *NEUTRAL], length=6, seed=1)
TEXTS = made_up_texts(150, [*GOOD, *BAD, *NEUTRAL], length=6, seed=2)


def labels(*, planted):
    """Return the classes of the training texts; for the second model every text with "film" is a good one."""
    found = [sum((word in GOOD) - (word in BAD) for word in text.split()) > 0 for text in TRAINING]
    return np.array([one or (planted and "film" in text.split()) for one, text in zip(found, TRAINING, strict=True)])


def tf_idf(classes):
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(TRAINING, classes).predict_proba


def cnn(classes):
    torch = pytest.importorskip("torch")
    numbers = {word: number for number, word in enumerate([*GOOD, *BAD, *NEUTRAL], 1)}
    torch.manual_seed(0)
    layers = (torch.nn.Conv1d(16, 24, 2, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveMaxPool1d(1))
    head, table = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(24, 2)), torch.nn.Embedding(23, 16)

    def scores(texts):
        rows = [[numbers.get(word, 0) for word in text.split()][:6] for text in texts]
        ids = torch.tensor([row + [0] * (6 - len(row)) for row in rows])
        return head(table(ids).transpose(1, 2))

    optimizer = torch.optim.Adam([*head.parameters(), *table.parameters()], lr=0.01)
    for _ in range(120):
        loss = torch.nn.functional.cross_entropy(scores(TRAINING), torch.tensor(classes, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def predict(texts):
        with torch.no_grad():
            return scores(texts).softmax(1).numpy().astype(float)

    return predict


@pytest.mark.parametrize("train", [tf_idf, cnn])
def test_the_planted_word_is_first(train, tmp_path):
    runs = [write_run(tmp_path / str(planted), TEXTS, train(labels(planted=planted))) for planted in (False, True)]
    found = mase.compare(*runs)
    assert found.predictions.flipped > 10
    assert found.reasons.flipped_left_out == 0
    assert found.shifts.listed[0].word == "film"
