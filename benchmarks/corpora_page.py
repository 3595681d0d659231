"""What 10 million texts take, by the figures of `corpora.py`: the tables of `docs/corpora.md`."""

from pathlib import Path

__all__ = ["Figures", "update"]

Figures = dict[str, float]

PAGE = Path(__file__).parent.parent / "docs" / "corpora.md"
BEGIN, END = "<!-- scale:begin (written by benchmarks/corpora.py) -->", "<!-- scale:end -->"
# What the page is computed from.
NEEDED = {
    "seconds per text and worker, lstm-imdb",
    "two workers / one",
    "two Ray actors / two local workers",
    "driver and storage, ms of the processor per text, lstm-imdb",
    "bytes per text, lstm-imdb",
}


def scale(figures: Figures, n_samples: int) -> str:
    """Return the tables of `docs/corpora.md`, for explanations of so many samples."""
    n, per_text = 10_000_000, figures["seconds per text and worker, lstm-imdb"]
    share = figures["two workers / one"] / 2 * min(1, figures["two Ray actors / two local workers"])
    limit = 1e3 / figures["driver and storage, ms of the processor per text, lstm-imdb"]
    size = figures["bytes per text, lstm-imdb"]
    lines = [
        f"- One worker (one core) takes {per_text:.3g} s per text of 40 words with `lstm-imdb` and N = {n_samples}.",
        f"- Workers of Ray reach {share:.2f} of the throughput that their number promises.",
        f"- One driver handles at most {limit:,.0f} texts per second.",
        f"- A text takes {size / 1e3:.2g} kB on disk.",
        "",
        "| workers (cores) | hours for 10,000,000 texts | core hours | texts per second |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for count in (2, 16, 64, 256, 1024):
        rate = min(count * share / per_text, limit)
        hours = n / rate / 3600
        lines.append(f"| {count:,} | {hours:,.1f} | {hours * count:,.0f} | {rate:,.0f} |")
    return "\n".join([*lines, "", f"The folder of such a run takes {n * size / 1e9:,.0f} GB."])


def update(figures: Figures, n_samples: int) -> None:
    """Write the tables into the page, if all figures are there that they need."""
    if not figures.keys() >= NEEDED:
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{scale(figures, n_samples)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
