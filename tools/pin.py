"""Check that a change leaves all results unchanged: explain the same texts with two checkouts and compare.

    python tools/pin.py BASE          # this working tree against the commit BASE
    python tools/pin.py --print       # the fingerprints of the library that is imported, as JSON

Each explanation has one SHA-256 for its scores, standard errors, R2, costs and notes (codes and words, not wording),
and one for each field that only later commits have: the order, whether scores are signed or exact, and the precision.
Fields that one of the two commits lacks are not compared. Fingerprints of different machines are not comparable,
because rounding differs. Two runs on one machine with one thread agree.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "few": {"n_samples": 64},
    "tolerance": {"stopping": {"tolerance": 0.2}},
    "stable-top": {"stopping": {"stable_top": 3}},
    "token": {"units": "token"},
    "probability": {"link": "probability"},
    "small batches": {"batch_size": 7},
    "seed 1": {"seed": 1},
    "evidence": {"evidence": 3},
    "zoom": {"units": "sentence", "zoom": 1},
}
SHORT = ("Not bad at all.", "good", "A dull start, but the last hour is wonderful.")


def black_box(texts: list[str]) -> list[list[float]]:
    """Return probabilities of a function whose words interact."""
    found = []
    for text in texts:
        words = text.lower().split()
        score = (
            0.4 * ("good" in text)
            - 0.3 * ("dull" in words)
            + 0.2 * ("not" in words) * ("bad" in text)
            + len(words) / 1000
        )
        probability = min(max(0.4 + score, 0.01), 0.99)
        found.append([1 - probability, probability])
    return found


def texts(name: str) -> tuple[str, ...]:
    """Return the texts of an example file."""
    return tuple((ROOT / "examples" / name).read_text(encoding="utf-8").splitlines())


def explanations() -> Iterator[tuple[str, Any]]:
    """Yield a name and the explanation, or the error, of every case."""
    import mase
    from mase.testing.models import FOLDER, lookups

    function = mase.models.Callable(black_box, labels=["neg", "pos"])
    for method in mase.METHODS:
        yield _case(f"black box, {method}", function, SHORT[2], method=method, n_samples=64)
    loaded = {name: mase.models.load(name) for name in ("lstm-imdb", "lstm-reuters")}
    for setting, options in SETTINGS.items():
        yield _case(f"lstm-imdb, {setting}", loaded["lstm-imdb"], texts("reviews.txt")[0], **options)
    for method in ("mase-rationale", "mase-nlgp", "integrated-gradients"):
        yield _case(f"lstm-imdb, {method}", loaded["lstm-imdb"], texts("reviews.txt")[1], method=method)
    for text in texts("news.txt")[:2]:
        yield _case(f"lstm-reuters, {text[:20]}", loaded["lstm-reuters"], text)
        several = {"target": "all", "n_samples": 200}
        yield _case(f"lstm-reuters, all classes, {text[:20]}", loaded["lstm-reuters"], text, **several)
    long = " ".join(texts("reviews.txt")) * 3
    yield _case("lstm-imdb, windows", loaded["lstm-imdb"], long, windows=True, n_samples=200)
    records = mase.models.Callable(
        lambda rows: black_box([row["text"] + " good" * row["stars"] for row in rows]), labels=["neg", "pos"]
    )
    row = {"text": SHORT[2], "stars": 3}
    yield _case("records", records, row, background={"stars": 0}, n_samples=200)
    question = lookups(1, seed=1)[0]
    model = mase.models.load(FOLDER)
    yield "cite", mase.cite(model, context=list(question.sources), query=question.query, n_samples=100)
    try:
        bert = mase.models.load("bert-imdb")
    except mase.MaseError:  # the pretrained model is not installed
        return
    for method in ("mase", "integrated-gradients"):
        yield _case(f"bert-imdb, {method}", bert, SHORT[2], method=method, n_samples=64)


def _case(name: str, model: Any, text: Any, target: Any = None, **options: Any) -> tuple[str, Any]:
    import mase
    from mase.options import Stopping

    if "stopping" in options:
        options["stopping"] = Stopping(**options["stopping"])
    try:
        return name, mase.Explainer(model, **({"evidence": 0} | options))(text, target=target)
    except mase.MaseError as error:
        return name, error


def fingerprint(found: Any) -> dict[str, str]:
    """Return the SHA-256 of each part that must not change, or the type of the error."""
    if isinstance(found, Exception):
        return {"result": type(found).__name__}
    if not hasattr(found, "scores"):  # one for each class
        parts = [(number, fingerprint(result)) for number, result in enumerate(found)]
        return {f"{part} of {number}": code for number, result in parts for part, code in result.items()}
    fit, notes = found.fit, _notes(found)
    r2 = found.r2 if hasattr(found, "r2") else fit.r2  # of the fit up to schema 1
    values = [found.scores.tobytes().hex(), found.standard_errors.tobytes().hex(), list(found.words), found.target]
    values += [r2, fit.split_half, fit.condition, fit.n_queries, fit.n_gradients, found.response, notes]
    return {
        name: hashlib.sha256(json.dumps(part).encode()).hexdigest()
        for name, part in ({"result": values} | _later(found)).items()
    }


def _later(found: Any) -> dict[str, Any]:
    """Return the fields that came with later commits, if the explanation has them."""
    fields: dict[str, Any] = {"precision": getattr(found.fit, "precision", None), "evidence": repr(found.evidence)}
    for number, response in enumerate(getattr(found, "responses", ())):
        for name in ("order", "signed", "exact"):
            fields[f"{name} of response {number}"] = getattr(response, name, None)
    return {name: value for name, value in fields.items() if value is not None}


def differing(before: dict[str, str] | None, after: dict[str, str] | None) -> list[str]:
    """Return the parts in which two fingerprints differ, of those that both have."""
    if before is None or after is None:
        return ["missing"]
    return sorted(part for part in before.keys() & after.keys() if before[part] != after[part])


def _notes(found: Any) -> list[tuple[str, int | None]]:
    """Return the code of each note and the index of its unit; up to schema 1 they were the warnings of the fit."""
    if hasattr(found, "notes"):
        return [(note.code, note.unit) for note in found.notes]
    return [(note.code, getattr(note, "word", None)) for note in found.fit.warnings]


def printed(source: Path) -> dict[str, dict[str, str]]:
    """Return the fingerprints of the library in the folder `source`."""
    environment = os.environ | {"PYTHONPATH": os.fspath(source), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, os.fspath(Path(__file__).resolve()), "--print"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def compare(base: str) -> int:
    """Return 1 if this working tree gives another result than the commit `base` somewhere, and say where."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "base"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", other, base], cwd=ROOT, check=True)
        try:
            before = printed(other / "src")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)
    after = printed(ROOT / "src")
    names = before.keys() | after.keys()
    changed = {name: parts for name in sorted(names) if (parts := differing(before.get(name), after.get(name)))}
    for name, parts in changed.items():
        sys.stdout.write(f"{name}: {', '.join(parts)} changed\n")
    sys.stdout.write(f"{len(names) - len(changed)} results as before, {len(changed)} changed\n")
    return int(bool(changed))


def main() -> int:
    """Read the arguments and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", nargs="?", help="commit to compare with")
    parser.add_argument("--print", action="store_true", help="print the fingerprints of the library that is imported")
    arguments = parser.parse_args()
    if arguments.print:
        json.dump({name: fingerprint(found) for name, found in explanations()}, sys.stdout, indent=0)
        return 0
    if arguments.base is None:
        parser.error("expected BASE, a commit to compare with, or --print")
    return compare(arguments.base)


if __name__ == "__main__":
    sys.exit(main())
