"""Measure how far masked and scaled texts are from real ones, and draw the paper's Figure 2 from a real embedding.

The paper says that a text in which words are replaced by a token may leave the neighbourhood of the original, and that
scaled word vectors (NLGP) do not. Test texts of LSTM-IMDB are changed in both ways, and the nearest real review is
looked for, in the model's hidden space and among means of word vectors. The table goes to
`experiments/geometry/geometry.md`, the picture beside it.

    python experiments/geometry.py DATA_DIR
"""

import argparse
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

from mase.arrays import Floats
from mase.datasets import load as load_split
from mase.metrics.intervals import summary_of_mean
from mase.models import bundled
from mase.models.bundled.vocabulary import UNKNOWN_ID
from mase.models.runtime import configure
from mase_paper.experiments.plots import save
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

SIGMAS, SHARES = (0.1, 0.3, 0.5, 1.0), (0.1, 0.3, 0.5, 0.8)
N_DRAWS = 20
FEWEST_WORDS = 20
EXAMPLE, DRAWN_SIGMA, N_DRAWN = ("not", "very", "good"), 0.3, 40
HUES = ("#c0392b", "#2c7fb8", "#31a354")

# From the vectors of a text `(t, d)` to those of a changed text, which may have fewer.
Change = Callable[[torch.Tensor, np.random.Generator], torch.Tensor]


class Reader:
    """What an LSTM makes of vectors: its last state, and the mean of the vectors."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.table = module.embedding.weight

    def points(self, texts: list[torch.Tensor]) -> tuple[Floats, Floats]:
        """Return the last states and the means of the vectors `(n, d)` of n texts, each `(t, d)`."""
        with torch.inference_mode():
            packed = torch.nn.utils.rnn.pack_sequence(texts, enforce_sorted=False)
            states = self.module.lstm(packed)[1][0][0]
            means = torch.stack([text.mean(0) for text in texts])
        return states.double().numpy(), means.double().numpy()


def scale(sigma: float) -> Change:
    """Return NLGP: every vector times a draw from N(1, sigma^2)."""
    return lambda vectors, rng: vectors * torch.from_numpy(rng.normal(1, sigma, (len(vectors), 1))).float()


def noise(sigma: float) -> Change:
    """Return noise on every entry, of the same size as that of NLGP: sigma times the length of the vector."""

    def change(vectors: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
        each = sigma * vectors.norm(dim=1, keepdim=True) / vectors.shape[1] ** 0.5
        return vectors + each * torch.from_numpy(rng.normal(size=tuple(vectors.shape))).float()

    return change


def replace(share: float, stand_in: torch.Tensor | None) -> Change:
    """Return masking: each word with this probability becomes a vector `(d,)`, or is deleted; one word stays."""

    def change(vectors: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
        gone = rng.random(len(vectors)) < share
        gone[rng.integers(len(vectors))] = False
        masked = torch.from_numpy(gone)
        return vectors[~masked] if stand_in is None else torch.where(masked[:, None], stand_in, vectors)

    return change


def changes(reader: Reader) -> Mapping[str, Change]:
    """Return the changes by name."""
    unknown, zero = reader.table[UNKNOWN_ID], torch.zeros(reader.table.shape[1])
    scaled = {f"scaled (NLGP), σ = {sigma}": scale(sigma) for sigma in SIGMAS}
    noisy = {f"noise on every entry, σ = {sigma}": noise(sigma) for sigma in SIGMAS}
    masked = {
        f"{share:.0%} {name}": replace(share, stand_in)
        for name, stand_in in (("unknown", unknown), ("zero vector", zero), ("deleted", None))
        for share in SHARES
    }
    return scaled | noisy | masked


def row(name: str, columns: list[Floats]) -> str:
    """Return a row of the table: means over texts with intervals."""
    told = [summary_of_mean(column) for column in columns]
    return f"| {name} | " + " | ".join(f"{one.mean:.2f} ({one.low:.2f} to {one.high:.2f})" for one in told) + " |"


def measured(reader: Reader, texts: list[torch.Tensor], real: list[torch.Tensor]) -> list[str]:
    """Return the rows: distances over those of a text from its nearest other real text."""
    corpus, originals, rng = reader.points(real), reader.points(texts), np.random.default_rng(0)
    units = [np.median(cdist(own, known).min(axis=1)) for own, known in zip(originals, corpus, strict=True)]
    nearest = [cdist(own, known).min(axis=1) / unit for own, known, unit in zip(originals, corpus, units, strict=True)]
    rows = [row("unchanged", [column for own in nearest for column in (own, np.zeros(len(texts)))])]
    for name, change in changes(reader).items():
        columns: list[list[float]] = [[], [], [], []]
        for index, text in enumerate(texts):
            drawn = reader.points([change(text, rng) for _ in range(N_DRAWS)])
            for space, (points, known, unit) in enumerate(zip(drawn, corpus, units, strict=True)):
                own = originals[space][index][None]
                columns[2 * space].append(float(np.mean(np.minimum(*(
                    cdist(points, some).min(axis=1) for some in (known, own)
                )))) / unit)  # fmt: skip
                columns[2 * space + 1].append(float(cdist(points, own).mean()) / unit)
        rows.append(row(name, [np.array(column) for column in columns]))
        print(rows[-1], flush=True)  # noqa: T201
    return rows


def picture(vectors: torch.Tensor, unknown: torch.Tensor) -> Figure:
    """Return the paper's Figure 2 for three real word vectors `(3, d)`.

    Three vectors span three dimensions, so that lengths and angles are drawn as they are in the embedding. What is not
    in their span, noise on every entry and the unknown token, is projected onto it.
    """
    basis = np.linalg.qr(vectors.double().numpy().T)[0]
    basis *= np.sign((vectors.double().numpy() @ basis).sum(axis=0))
    words, unk = vectors.double().numpy() @ basis, unknown.double().numpy() @ basis
    rng = np.random.default_rng(0)
    unit = words / np.linalg.norm(words, axis=1, keepdims=True)
    factors = rng.normal(1, DRAWN_SIGMA, (3, N_DRAWN, 1))
    lengths = np.linalg.norm(words, axis=1)[:, None, None]
    width = vectors.shape[1] ** 0.5
    noisy = words[:, None] + DRAWN_SIGMA * lengths / width * rng.normal(size=(3, N_DRAWN, 3))
    figure = Figure(figsize=(12, 4.3), layout="constrained")
    at = f"σ = {DRAWN_SIGMA}"
    titles = ("(a) word vectors", "(b) normalised", f"(c) NLGP, {at}", f"(d) noise on every entry, {at}")
    for place, (title, arrows, clouds) in enumerate(
        zip(titles, (words, unit, words, words), (None, None, factors * words[:, None], noisy), strict=True), 1
    ):
        axes = figure.add_subplot(1, 4, place, projection="3d")
        axes.set_title(title, fontsize="medium", parse_math=False)
        for word, arrow, hue, index in zip(EXAMPLE, arrows, HUES, range(3), strict=True):
            axes.plot(*np.stack([np.zeros(3), arrow]).T, color=hue, linewidth=1.6)
            axes.text(*(1.08 * arrow), word, color=hue, fontsize="small", parse_math=False)
            if clouds is not None:
                axes.scatter(*clouds[index].T, color=hue, s=5, alpha=0.5, depthshade=False)
        if clouds is not None:
            axes.scatter(*unk, color="black", marker="x", s=25, depthshade=False)
            axes.text(*unk, " unk", fontsize="small")
        axes.tick_params(labelsize="x-small", pad=-2)
    return figure


INTRODUCTION = """\
# How far masked and scaled texts are from real ones

Made by `experiments/geometry.py` on LSTM-IMDB. The first {n} test reviews of at least {fewest} words that the model
classifies correctly are changed {draws} times each, in the vectors of the words that the model reads. *To the nearest*
is the distance of a changed text to the nearest of {real:,} training reviews or its original, *to the original* that to
the original alone; an unchanged review is compared with the other ones. The unit is the distance of a real review to
the nearest other one (median): a changed text at less than 1 is nearer to a real text than real texts are to each
other. *Hidden* is the last state of the LSTM, *mean vector* the mean of the word vectors. The noise on every entry has
the same length as that of NLGP. Means over texts with 95 % intervals, a bootstrap over texts.

The model was trained with a fifth of the words replaced by the unknown token, which puts that token in its
distribution.

| change | hidden: to the nearest | to the original | mean vector: to the nearest | to the original |
|---|--:|--:|--:|--:|
"""
CAPTION = f"""
![Word vectors of three words, and what perturbations make of them](figure2.svg)

The paper's Figure 2 for the words *{EXAMPLE[0]}*, *{EXAMPLE[1]}* and *{EXAMPLE[2]}* of this embedding. Three vectors
span three dimensions, so that lengths and angles are those of the embedding. In (c) every point is on the line of its
word. Noise on every entry (d) and the unknown token (cross) leave the span and are projected onto it. The lengths of
the noise in (c) and (d) are the same; little of it in (d) lies in the span.
"""


def main() -> None:
    """Measure, draw, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--n-texts", type=int, default=50)
    parser.add_argument("--n-real", type=int, default=5000)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    model = bundled.load("lstm-imdb")
    reader = Reader(model.module)

    def vectors(text: str) -> torch.Tensor:
        return reader.table[torch.tensor(model.encode(text).ids)]

    split, train = TARGETS["lstm-imdb"].split("test", args.data_dir), load_split("imdb", "train", args.data_dir)
    chosen = (vectors(one.text) for one in choose(model, split, 0))
    texts = list(islice((text for text in chosen if len(text) >= FEWEST_WORDS), args.n_texts))
    rows = np.random.default_rng(0).permutation(len(train))[: args.n_real]
    real = [vectors(train.texts[index]) for index in rows]
    head = INTRODUCTION.format(fewest=FEWEST_WORDS, n=len(texts), draws=N_DRAWS, real=len(real))
    page = head + "\n".join(measured(reader, texts, real)) + "\n" + CAPTION
    ids = [model.encode(word).ids[0] for word in EXAMPLE]
    args.output.mkdir(parents=True, exist_ok=True)
    save(picture(reader.table[torch.tensor(ids)], reader.table[UNKNOWN_ID]), args.output / "figure2.svg")
    (args.output / "geometry.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
