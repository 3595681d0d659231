"""Kills, full disks and signals during `mase explain --output`."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from mase.attribution.json import Failure, load_many
from tests.hostile import process, streams
from tests.hostile.corpora import save_box, save_texts
from tests.hostile.process import Limits

LIMITS = Limits(seconds=120)
# Long enough that a run is not over before it is killed for the last time; short in `make test`.
N_SHORT, N_TEXTS, N_LONG, N_KILLS = 15, 60, 250, 40


@pytest.fixture
def scene(tmp_path, request):
    """Return a folder with texts and a black box, and the arguments that explain these with it."""
    whole = request.node.get_closest_marker("hostile") is not None
    n = N_LONG if request.function is test_kills else N_TEXTS if whole else N_SHORT
    source, box = save_texts(tmp_path / "in.txt", n), save_box(tmp_path / "box.py", 0.01)
    return tmp_path, ("explain", "-i", source, "-m", box, "-q", "--n-samples", "32", "--batch-size", "16")


def timeless(content):
    """Return lines of results without what differs from run to run."""
    found = []
    for line in content.splitlines():
        document = json.loads(line)
        document.get("fit", {}).pop("seconds", None)
        found.append(document)
    return found


def whole(content):
    """Return the lines of a file that are whole, without the times in them."""
    return timeless(content[: content.rfind(b"\n") + 1])


def straight(scene):
    """Return the results of a run that nothing stopped."""
    folder, arguments = scene
    ran = process.mase(*arguments, "-o", folder / "straight.jsonl", scratch=folder / "streams", limits=LIMITS)
    assert streams.complaint(ran) is None
    assert ran.code == 0, ran.err
    return timeless((folder / "straight.jsonl").read_bytes())


def waited(path, size, seconds):
    """Wait until a file is longer than `size`, at most so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not (path.exists() and path.stat().st_size > size):
        time.sleep(0.005)


def killed(scene, arguments, output, seed, n_kills):
    """Yield what is wrong after each of many kills, the run being taken up each time."""
    folder, rng, kept = scene[0], np.random.default_rng(seed), []
    for number in range(n_kills):
        size = output.stat().st_size if output.exists() else 0
        running = process.start(*arguments, scratch=folder / "streams", limits=LIMITS)
        waited(output, size, rng.uniform(0.2, 1.0))
        time.sleep(rng.uniform(0, 0.05))
        early = running.process.exitcode
        running.kill()
        lines = whole(output.read_bytes()) if output.exists() else []
        told = (folder / "streams" / "stderr").read_text(encoding="utf-8")
        lost = lines[: len(kept)] != kept
        yield (
            number,
            "finished rows were lost" if lost else f"ended with {early}: {told[-300:]}" if early is not None else None,
        )
        kept = lines


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(5))
def test_kills(seed, scene, judge):
    """Killed again and again, and taken up each time: in the end the file is that of a run that nothing stopped."""
    folder, arguments = scene
    output = folder / "out.jsonl"
    calls = (*arguments, "-o", output, "--append")
    found, expected = list(killed(scene, calls, output, seed, N_KILLS)), straight(scene)
    ran = process.mase(*calls, scratch=folder / "streams", limits=LIMITS)
    same = ran.code == 0 and timeless(output.read_bytes()) == expected
    judge(
        [
            *found,
            ("the end", None if same else f"another file than without kills, exit code {ran.code}: {ran.err[-300:]}"),
        ]
    )


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(10))
def test_kills_while_overwriting(seed, scene, judge):
    """A finished file stays whole until its successor is; the next call names the draft, and `--append` takes it up."""
    folder, arguments = scene
    output, expected = folder / "out.jsonl", straight(scene)
    before = (folder / "straight.jsonl").read_bytes()
    output.write_bytes(before)
    running = process.start(*arguments, "-o", output, "--overwrite", scratch=folder / "streams", limits=LIMITS)
    time.sleep(np.random.default_rng(seed).uniform(0.2, 0.8))
    early = running.process.exitcode
    running.kill()
    verdicts = [
        ("the finished file", None if output.read_bytes() == before or early == 0 else "was changed by a killed run")
    ]
    ran = process.mase(*arguments, "-o", output, "--append", scratch=folder / "streams", limits=LIMITS)
    same = ran.code == 0 and timeless(output.read_bytes()) == expected
    judge([*verdicts, ("the end", None if same else f"another file, exit code {ran.code}: {ran.err[-300:]}")])


def test_a_finished_file_is_never_emptied(scene, judge):
    folder, arguments = scene
    output, page = folder / "out.jsonl", folder / "page.html"
    assert process.mase(*arguments, "-o", output, "--html", page, scratch=folder / "streams", limits=LIMITS).code == 0
    before, verdicts = (output.read_bytes(), page.read_bytes()), []
    for again in (
        ("-o", output),
        ("--html", page),
        ("-o", output, "--html", page),
        ("-o", output, "--n-samples", "64"),
    ):
        ran = process.mase(*arguments, *again, scratch=folder / "streams", limits=LIMITS)
        wrong = streams.complaint(ran) or ("was accepted" if ran.code == 0 else None)
        verdicts.append(
            (again, wrong or (None if (output.read_bytes(), page.read_bytes()) == before else "a file was changed"))
        )
    ran = process.mase(*arguments, "-o", output, "--append", scratch=folder / "streams", limits=LIMITS)
    verdicts.append(
        ("append to a finished file", None if ran.code == 0 and output.read_bytes() == before[0] else ran.err[-300:])
    )
    ran = process.mase(*arguments, "-o", output, "--append", "--seed", "5", scratch=folder / "streams", limits=LIMITS)
    verdicts.append(
        (
            "append with another seed",
            None if ran.code in (1, 2) and output.read_bytes() == before[0] else "was accepted",
        )
    )
    judge(verdicts)


@pytest.mark.hostile
@pytest.mark.parametrize(
    "size", [0, 1, 100, 4096, 4097, *np.random.default_rng(16).integers(5000, 90_000, 15).tolist()]
)
def test_full_disks(size, scene, judge):
    """A disk that takes `size` bytes: whole lines, one line of error, and a run that goes on once there is room."""
    folder, arguments = scene
    output, expected = folder / "out.jsonl", straight(scene)
    full = Limits(seconds=60, file_size=size)
    ran = process.mase(*arguments, "-o", output, scratch=folder / "streams", limits=full)
    content = output.read_bytes() if output.exists() else b""
    verdicts = {
        # An error longer than the disk has room for is cut: standard error is a file here.
        "its end": None if ran.code == 1 and "Traceback" not in ran.err else f"exit code {ran.code}: {ran.err[-300:]}",
        "its lines": None if content.endswith(b"\n") or not content else "the last line is torn",
        "its results": None if whole(content) == expected[: len(whole(content))] else "others than without a full disk",
    }  # fmt: skip
    ran = process.mase(*arguments, "-o", output, "--append", scratch=folder / "streams", limits=LIMITS)
    same = ran.code == 0 and timeless(output.read_bytes()) == expected
    verdicts["the end"] = None if same else f"another file, exit code {ran.code}: {ran.err[-300:]}"
    broken = {name: verdict for name, verdict in verdicts.items() if verdict}
    judge([(f"{size} bytes", str(broken) if broken else None)])


@pytest.mark.hostile
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("seed", range(5))
def test_signals(number, code, seed, scene, judge):
    """Ctrl-C and SIGTERM end a run with a word, and leave whole lines."""
    folder, arguments = scene
    output = folder / "out.jsonl"
    running = process.start(*arguments, "-o", output, scratch=folder / "streams", limits=LIMITS)
    waited(output, 0, 30)
    time.sleep(np.random.default_rng(seed).uniform(0, 0.2))
    os.kill(running.process.pid, number)
    ran, content = running.ended(20), output.read_bytes()
    wrong = None if ran.code == code and "Traceback" not in ran.err else f"exit code {ran.code}: {ran.err[-400:]}"
    judge([(signal.Signals(number).name, wrong or (None if content.endswith(b"\n") else "left a torn line"))])


@pytest.mark.parametrize("way", ["same name", "hard link", "symbolic link", "page", "links of both"])
def test_an_input_is_no_output(way, scene, judge):
    folder, (_, _, source, *rest) = scene
    before, link, other = source.read_bytes(), folder / "link.jsonl", folder / "in2.txt"
    if way == "hard link":
        os.link(source, link)
    elif way in ("symbolic link", "links of both"):
        link.symlink_to(source)
    other.symlink_to(source)
    output = source if way in ("same name", "page") else link
    verdicts = []
    for flags in ((), ("--append",), ("--overwrite",)):
        option = "--html" if way == "page" else "-o"
        ran = process.mase(
            "explain", "-i", other if way == "links of both" else source, *rest, option, output, *flags,
            scratch=folder / "streams", limits=Limits(seconds=20),
        )  # fmt: skip
        wrong = streams.complaint(ran) or ("was accepted" if ran.code == 0 else None)
        verdicts.append(
            ((way, *flags), wrong or (None if source.read_bytes() == before else "the input was destroyed"))
        )
        source.write_bytes(before)
    judge(verdicts)


@pytest.mark.parametrize("flags", [(), ("--append",), ("--overwrite",)])
def test_standard_input_is_no_output(flags, tmp_path, judge):
    """`mase explain -o FILE < FILE`, and through /dev/stdin."""
    streams_of, verdicts = tmp_path / "streams", []
    for arguments in ((), ("-i", "/dev/stdin"), ("-i", "-")):
        for output in ("stdin", "/dev/stdin"):
            ran = process.mase(
                "explain", *arguments, "-m", "lstm-imdb", "-q", "--n-samples", "16", "-o", streams_of / output, *flags,
                scratch=streams_of, stdin=b"a good film\na dull film\n", limits=Limits(seconds=20, file_size=1 << 20),
            )  # fmt: skip
            wrong = streams.complaint(ran) or ("was accepted" if ran.code == 0 else None)
            kept = (streams_of / "stdin").read_bytes() == b"a good film\na dull film\n"
            verdicts.append(((arguments, output, *flags), wrong or (None if kept else "the input was destroyed")))
    judge(verdicts)


def test_a_torn_file_is_read_and_taken_up(scene, judge):
    """What a kill tore is no result, and the results before it are there."""
    folder, arguments = scene
    output, expected = folder / "out.jsonl", straight(scene)
    content = (folder / "straight.jsonl").read_bytes()
    output.write_bytes(content[: len(content) // 2])
    found = load_many(output)
    n_whole = len(whole(content[: len(content) // 2]))
    sound = len(found) == n_whole + 1 and isinstance(found[-1], Failure)
    ran = process.mase(*arguments, "-o", output, "--append", scratch=folder / "streams", limits=LIMITS)
    same = ran.code == 0 and timeless(output.read_bytes()) == expected
    judge(
        [
            ("load_many", None if sound else f"{len(found)} results of {n_whole}"),
            ("append", None if same else ran.err[-300:]),
        ]
    )


def test_the_scene_is_one(scene):
    """The texts differ, so that a line in the wrong place is seen."""
    texts = Path(scene[1][2]).read_text(encoding="utf-8").splitlines()
    assert len(set(texts)) == len(texts) == N_SHORT
