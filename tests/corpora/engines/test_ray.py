"""The Ray engine, on a cluster of this machine that is started once."""

import signal
import sys
import time
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from tests.corpora.runs import explained
from tests.runs import COMPARED

import mase
from mase.errors import OptionError, UnknownNameError
from mase.sources.rows import Item
from mase_corpora.engines import ENGINES, Died, Done, Ready, Resources, Task
from mase_corpora.engines.ray import Actor
from mase_corpora.worker import Recipe

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
BOX = """
import os
import zlib

def probabilities(texts):
    if any("fatal" in text for text in texts):
        os._exit(7)
    chances = [(zlib.crc32(text.encode()) % 1000 + 1) / 1002 for text in texts]
    return [[1 - p, p] for p in chances]
"""
N_TASKS = 6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Start Ray with one processor."""
    import ray

    handler = signal.getsignal(signal.SIGTERM)
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    signal.signal(signal.SIGTERM, handler)  # Ray has put its own in this place
    yield
    ray.shutdown()


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """An explainer of a function in a module that only the path of this process leads to."""
    (tmp_path / "box_of_test_ray.py").write_text(BOX, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "box_of_test_ray", raising=False)
    return Recipe(partial(mase.Explainer, import_module("box_of_test_ray").probabilities, n_samples=16))


def tasks(fatal=None):
    """Return tasks of two texts each, one text of which may be fatal."""
    items = [Item(row, f"t{row}", f"a {'fatal' if row == fatal else 'dull'} film number {row}") for row in range(12)]
    return [Task(number, items[2 * number : 2 * number + 2]) for number in range(N_TASKS)]


def outcome(found):
    """Return what does not depend on the engine: the tables of each task, or where and why its worker died."""
    done = {
        event.task: [event.tables[table].to_pylist() for table in COMPARED]
        for event in found
        if isinstance(event, Done)
    }
    return done | {event.task: (event.row, repr(event.error)) for event in found if isinstance(event, Died)}


def test_a_cluster_that_does_not_answer_is_reported(recipe, monkeypatch):
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # that of the other tests may be connected
    with pytest.raises(OptionError, match=r"127\.0\.0\.1:9"):
        ENGINES["ray"](Resources(2, address="127.0.0.1:9")).start(recipe)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "local"])
def test_the_address_of_another_cluster_than_the_connected_one_is_refused(cluster, recipe, address):
    import ray

    engine = ENGINES["ray"](Resources(1, address=address))
    with pytest.raises(OptionError, match="is connected to the Ray cluster") as error:
        engine.start(recipe)
    assert ray.get_runtime_context().gcs_address in str(error.value)


@pytest.mark.parametrize("address", ["auto", "{host}:{port}", "localhost:{port}", "127.0.0.1:{port}"])
def test_the_address_of_the_connected_cluster_is_taken(cluster, recipe, address):
    import ray

    host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
    engine = ENGINES["ray"](Resources(1, address=address.format(host=host, port=port)))
    assert engine.start(recipe, 0) == 0
    engine.close()
    assert ray.is_initialized()


def test_no_actor_is_ended_while_it_is_created(cluster, recipe, tmp_path, monkeypatch):
    import ray

    created, ended = tmp_path / "created", []

    class Slow(Actor):
        def __init__(self, *parameters):
            time.sleep(0.5)
            super().__init__(*parameters)
            created.touch()

    monkeypatch.setattr("mase_corpora.engines.ray.Actor", Slow)
    kill = ray.kill
    monkeypatch.setattr("ray.kill", lambda actor: (ended.append(created.exists()), kill(actor)))
    engine = ENGINES["ray"](Resources(1))
    engine.start(recipe)
    engine.close()
    assert ended == [True]


class ClientHandle:
    """A handle as Ray Client has it: with the methods of the class, and none that Ray adds to it."""

    def __init__(self, *_parameters):
        pass

    def __getattr__(self, name):
        getattr(Actor, name)
        return self

    def remote(self):
        return self

    def future(self):
        done = Future()
        done.set_result([])
        return done


def test_handles_of_ray_client_suffice(cluster, recipe, monkeypatch):
    ended = []
    monkeypatch.setattr("ray.remote", lambda **_options: lambda _actor: SimpleNamespace(remote=ClientHandle))
    monkeypatch.setattr("ray.kill", ended.append)
    engine = ENGINES["ray"](Resources(2))
    assert engine.start(recipe) == 2
    engine.close()
    assert [type(handle) for handle in ended] == [ClientHandle] * 2


def test_results_and_deaths_are_those_of_the_local_engine(cluster, recipe):
    found = {name: explained(name, recipe, tasks(fatal=5)) for name in ("ray", "local")}
    assert outcome(found["ray"]) == outcome(found["local"])
    assert outcome(found["ray"])[2][0] == 5
    assert len({event.worker for event in found["ray"] if isinstance(event, Ready)}) == 2


@pytest.mark.faults
def test_an_actor_that_is_lost_costs_one_task(cluster, recipe):
    import psutil

    killed = []

    def kill(event):
        if isinstance(event, Done) and not killed:
            process = psutil.Process(int(event.worker.rsplit("-", 2)[-2]))
            assert process.is_running()
            process.kill()
            killed.append(event.worker)

    found = explained("ray", recipe, tasks(), kill)
    over = [event.task for event in found if isinstance(event, Done | Died)]
    assert killed
    assert sorted(over) == list(range(N_TASKS))
    assert sum(isinstance(event, Died) for event in found) <= 1


@pytest.mark.faults
def test_an_explainer_that_cannot_be_opened_is_reported(cluster, recipe):
    with pytest.raises(UnknownNameError, match="no-such-method"):
        explained("ray", Recipe(partial(recipe.open, method="no-such-method")), tasks())


@pytest.mark.parametrize("gpus", [0, -1, 1.5])
def test_impossible_shares_of_a_gpu_are_refused(gpus):
    with pytest.raises(OptionError, match="gpus_per_worker"):
        ENGINES["ray"](Resources(2, gpus_per_worker=gpus))
