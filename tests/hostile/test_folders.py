"""Hostile model folders, through the command and through Python."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.hostile import process, streams
from tests.hostile.folders import Place, save_bert, save_lstm
from tests.hostile.process import Limits
from tests.hostile.right import faults

pytest.importorskip("transformers")
from tests.hostile import folder_cases, folder_parts

LIMITS = Limits(seconds=30, memory=2 << 30)
TEXTS = ["y", "the film was good"]
FAMILIES = {
    "code": ("bert", folder_cases.CODE),
    "configuration": ("bert", folder_cases.CONFIGURATIONS),
    "weights": ("bert", folder_cases.WEIGHTS),
    "tokenizer": ("bert", folder_parts.TOKENIZERS),
    "lstm": ("lstm", folder_parts.LSTMS),
}
CASES = [(family, name) for family, (_, cases) in FAMILIES.items() for name in cases]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the folder of the good models."""
    folder = tmp_path_factory.mktemp("good")
    save_bert(folder / "bert")
    save_lstm(folder / "lstm")
    return folder


@pytest.fixture
def scene(good, tmp_path):
    """Return the function that sets a case up."""

    def made(family, name):
        base, cases = FAMILIES[family]
        root = tmp_path / f"{family} {abs(hash(name))}"
        place = Place(root / "model", root / "outside", root / "canary")
        shutil.copytree(good / base, place.folder)
        place.outside.mkdir()
        cases[name](place)
        return place

    return made


def contents(folder: Path):
    """Return what is in a folder, links and other things that are no files by name only."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "other"
        for path in sorted(folder.rglob("*"))
    }


def load(folder, refused):
    """Judge a folder through Python."""
    from mase import Explainer, MaseError
    from mase.models import load

    try:
        explainer = Explainer(load(folder), n_samples=32)
        found = [explainer(text) for text in TEXTS]
    except MaseError as error:
        return None if len(str(error)) < 5000 else f"a message of {len(str(error))} characters"
    if refused:
        return "was loaded"
    return next((wrong for one, text in zip(found, TEXTS, strict=True) if (wrong := faults(one, text))), None)


def through_python(place, *, refused):
    return process.call(load, place.folder, refused, limits=LIMITS)


def through_the_command(place, arguments, stdin, *, refused):
    ran = process.mase(
        "explain",
        "-m",
        place.folder,
        "--json",
        "--n-samples",
        "32",
        *arguments,
        scratch=place.outside.parent / "streams",
        stdin=stdin,
        limits=LIMITS,
    )
    verdict = streams.complaint(ran, n_results=len(TEXTS))
    return verdict or ("was loaded" if refused and ran.code == 0 else None)


def judged(place, *, refused):
    """Judge a folder in all ways: a typed error or a right answer, no code run, nothing asked, nothing changed."""
    before, lines = contents(place.folder.parent), "".join(f"{text}\n" for text in TEXTS).encode()
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(lines)
        file.flush()
        verdicts = {
            "Python": through_python(place, refused=refused),
            "standard input": through_the_command(place, [], lines, refused=refused),
            "a file": through_the_command(place, ["-i", file.name], b"y\ny\ny\n", refused=refused),
        }
    shutil.rmtree(place.outside.parent / "streams")
    if place.canary.exists():
        verdicts["canary"] = "its code ran"
    if contents(place.folder.parent) != before:
        verdicts["folder"] = "was changed"
    return "; ".join(f"{way}: {verdict}" for way, verdict in verdicts.items() if verdict) or None


@pytest.mark.hostile
@pytest.mark.parametrize(("family", "name"), CASES, ids=[f"{family}: {name}"[:70] for family, name in CASES])
def test_folders(family, name, scene, judge):
    judge([((family, name), judged(scene(family, name), refused=family == "code"))])


@pytest.mark.parametrize("name", ["bert", "lstm"])
def test_the_good_folders_are_read(name, good, tmp_path, judge):
    shutil.copytree(good / name, tmp_path / "model")
    (tmp_path / "outside").mkdir()
    place = Place(tmp_path / "model", tmp_path / "outside", tmp_path / "canary")
    judge([(name, judged(place, refused=False))])
    assert process.call(load, place.folder, True, limits=LIMITS) == "was loaded"


def test_no_code_of_a_folder_runs(scene, judge):
    names = ("configuration is code", "model is code", "tokenizer is code", "pickled weights")
    judge([(name, judged(scene("code", name), refused=True)) for name in names])


def test_the_canary_sings(scene):
    """The code of these folders would run if anybody let it: a case that cannot fail proves nothing."""
    place = scene("code", "configuration is code")
    exec((place.folder / "evil.py").read_text(encoding="utf-8"), {})
    assert place.canary.exists()
    place = scene("code", "pickled weights")
    import pickle

    pickle.loads((place.folder / "pytorch_model.bin").read_bytes())
    assert place.canary.exists()


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(folder_cases.CODE))
def test_folders_to_train_on(name, scene, tmp_path, judge):
    """A hostile folder as the pretrained model of `mase train`."""
    pytest.importorskip("pyarrow")
    from tests.hostile.corpora import save_reviews

    place = scene("code", name)
    save_reviews(tmp_path / "data")
    arguments = [
        "train",
        "bert-imdb",
        "--epochs",
        "1",
        "--base",
        place.folder,
        "--data-dir",
        tmp_path / "data",
        "-o",
        tmp_path / "out",
    ]
    ran = process.mase(*arguments, scratch=tmp_path / "streams", stdin=b"y\ny\ny\n", limits=LIMITS)
    verdict = streams.complaint(ran, n_results=1) or ("was trained on" if ran.code == 0 else None)
    judge([(name, "its code ran" if place.canary.exists() else verdict)])
