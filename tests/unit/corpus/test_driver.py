"""Tests of how the driver finds a text at which workers die, with an engine whose workers only seem to die."""

import pytest
from tests.runs import COMPARED
from tests.unit.corpus.runs import FAST, TEXTS, files, run, tables

from mase.corpus.engines import ENGINES
from mase.corpus.engines.here import Here
from mase.corpus.engines.protocol import Died
from mase.errors import DataError, TextTimeoutError, WorkerError

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


class Mortal(Here):
    """This process, which reports a death instead of explaining a task with a deadly text.

    `knows` says whether it reports at which text the worker died.
    """

    knows = False
    error = WorkerError
    deaths: list = []  # noqa: RUF012 (of the class, which the test clears)

    def events(self, timeout):
        if self._is_ready and self._tasks:
            task = self._tasks[0]
            deadly = next((item.row for item in task.items if "exits" in item.text), None)
            if deadly is not None:
                self._tasks.popleft()
                self.deaths.append(len(task.items))
                return [Died(task.number, "here", self.error("it died"), deadly if self.knows else None)]
        return super().events(timeout)


@pytest.fixture
def mortal(monkeypatch):
    monkeypatch.setitem(ENGINES.entries, "here", Mortal)
    monkeypatch.setattr(Mortal, "deaths", [])
    return Mortal


@pytest.mark.parametrize(
    ("knows", "error", "deaths"),
    [
        (False, WorkerError, [4, 2, 1, 1, 1]),
        (True, WorkerError, [4, 1, 1]),
        (True, TextTimeoutError, [4]),
        (False, TextTimeoutError, [4, 2, 1]),
    ],
)
def test_a_deadly_text_costs_only_itself(tmp_path, expected, mortal, monkeypatch, knows, error, deaths):
    monkeypatch.setattr(mortal, "knows", knows)
    monkeypatch.setattr(mortal, "error", error)
    texts = [*TEXTS[:9], "this one exits", *TEXTS[10:]]
    made = run(tmp_path / "run", texts, jobs=1)
    rows = made.texts().to_pylist()
    assert [row["error"] for row in rows] == [None] * 9 + [error.__name__] + [None] * 10
    assert (rows[9]["message"], rows[9]["row"]) == ("it died", 9)
    assert mortal.deaths == deaths
    others = [f"part-0000{part}.parquet" for part in (0, 1, 3, 4)]
    got, wanted = tables(files(tmp_path / "run")), tables(expected)
    assert all(got[f"{table}/{name}"] == wanted[f"{table}/{name}"] for table in COMPARED for name in others)


def test_workers_that_die_of_other_reasons_cost_nothing(tmp_path, expected, mortal, monkeypatch):
    tired = Mortal.events

    def twice(engine, timeout):
        if engine._is_ready and engine._tasks and len(mortal.deaths) < 6 and len(engine._tasks[0].items) < 5:
            mortal.deaths.append(1)
            return [Died(engine._tasks.popleft().number, "here", WorkerError("killed"))]
        return tired(engine, timeout)

    monkeypatch.setattr(Mortal, "events", twice)
    made = run(tmp_path / "run")
    assert len(mortal.deaths) == 6
    assert made.texts()["error"].null_count == len(TEXTS)
    assert files(tmp_path / "run") == expected


def test_an_input_that_shrinks_ends_the_run(tmp_path):
    from tests.unit.corpus.classifiers import judge

    from mase.corpus.inputs import open_source
    from mase.corpus.opening import opening
    from mase.corpus.running import Settings, execute
    from mase.corpus.worker import Recipe

    class Shrinking:
        def __init__(self, source):
            self.source, self.kept, self.describe = source, source.kept, source.describe

        def __len__(self):
            return len(self.source)

        def items(self, start=0):
            return (item for item in self.source.items(start) if item.row < 7)

    recipe = Recipe(opening(judge, None, FAST))
    with pytest.raises(DataError, match="ended early"):
        execute(Shrinking(open_source(TEXTS)), tmp_path / "run", recipe, Settings("here", part_size=4))
    assert run(tmp_path / "run").is_complete
