"""Workers of a Ray cluster.

Ray places one actor per worker. An actor holds a worker process of the local engine, which explains the texts. So a
text that ends or blocks its process is found and reported as on one machine, and Ray has to notice lost actors and
machines only.
"""

import os
import pickle
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from mase.errors import MaseError, OptionError, WorkerError
from mase.files import without_password
from mase.models.origin import dumps
from mase.platforms import usable_cores
from mase.registry import require
from mase_corpora.engines import Died, Done, Event, Pool, Ready, Resources, Task, as_error
from mase_corpora.engines.local import Local, Unable
from mase_corpora.worker import Recipe

if TYPE_CHECKING:
    from mase.explainer import Explainer


# Seconds for which an actor waits for its worker process at a time.
_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Pickled:
    """Opens an explainer that is pickled, so that the actor itself need not open it."""

    content: bytes

    def __call__(self) -> "Explainer":
        """Return the explainer."""
        explainer: Explainer = pickle.loads(self.content)()
        return explainer


class Actor:
    """A worker process on a machine of the cluster; Ray makes an actor of this class.

    Parameters
    ----------
    recipe
        What the worker opens.
    folder, path
        Where the driver runs, and where it finds modules. These folders may be missing on this machine.
    """

    def __init__(self, recipe: Recipe, folder: str, path: Sequence[str]) -> None:
        with suppress(OSError):
            os.chdir(folder)
        sys.path.extend(folder for folder in path if folder not in sys.path)
        self._engine = Local(Resources(1), f"{socket.gethostname()}-{os.getpid()}-")
        self._recipe = recipe

    def answer(self) -> None:
        """Return nothing. The driver waits for this call to learn that the actor has been created."""

    def open(self) -> "list[Event] | Unable":
        """Start the worker process, and return what it reports."""
        return self._until(Ready, lambda: self._engine.start(self._recipe))

    def explain(self, task: Task) -> "list[Event] | Unable":
        """Return what became of a task, and of worker processes meanwhile."""
        return self._until((Done, Died), lambda: self._engine.submit(task))

    def _until(self, last: Any, begin: Any) -> "list[Event] | Unable":
        events: list[Event] = []
        try:
            begin()
            while not any(isinstance(event, last) for event in events):
                events.extend(self._engine.events(_WAIT))
        except MaseError as error:
            return Unable((type(error).__name__, str(error)))
        return events


# Seconds in which a cluster has to answer.
_CONNECT = 10.0

# Seconds in which actors have to be created before they are ended.
_CREATE = 5.0

# Ray reads these when it is imported. It would print what the logs of its machines say to standard output.
_QUIET = {"RAY_DEDUP_LOGS_SKIP_REGEX": ".*", "RAY_USAGE_STATS_ENABLED": "0"}


class _Handle:
    """An actor seen from the driver, and the tasks that it has.

    Parameters
    ----------
    actor
        The actor.
    inbox
        Gets `(handle, future)` for every call of the actor that has ended.
    """

    def __init__(self, actor: Any, inbox: "SimpleQueue[Any]") -> None:
        self.actor, self.tasks, self.is_ready = actor, deque[Task](), False
        # A call of our own, because handles of Ray Client have no `__ray_ready__`.
        self.created: Future[Any] = actor.answer.remote().future()
        self._inbox = inbox
        self._follow(actor.open.remote())

    def give(self, task: Task) -> None:
        """Give a task to the actor."""
        self.tasks.append(task)
        self._follow(self.actor.explain.remote(task))

    def _follow(self, reference: Any) -> None:
        """Put the result of a call into the inbox when it is there. No call of Ray waits meanwhile."""
        reference.future().add_done_callback(lambda future: self._inbox.put((self, future)))


class Ray:
    """Actors of a Ray cluster, each with a worker process. See `Engine`.

    Without an address, a cluster of this machine is started and stopped. A cluster that the caller has connected to is
    used as it is, and an address of another one is refused. The number of workers is `jobs`, or else what the cluster
    has room for. Workers for which there is no room yet begin when there is.

    Raises
    ------
    OptionError
        If Ray cannot give such a share of a GPU.
    MissingDependencyError
        If Ray is not installed.
    """

    def __init__(self, resources: Resources) -> None:
        gpus = resources.gpus_per_worker
        if gpus is not None and not (0 < gpus < 1 or (gpus >= 1 and gpus == int(gpus))):
            raise OptionError(f"gpus_per_worker is {gpus:g}, expected a fraction below 1 or a whole number")
        require("ray", "ray")
        self._resources = resources
        self._inbox: SimpleQueue[tuple[_Handle, Future[Any]]] = SimpleQueue()
        self._pool: Pool[_Handle] = Pool("Ray actors")
        self._connected = False

    @property
    def free(self) -> int:
        """Number of tasks that workers which are ready can take."""
        return self._pool.free

    def start(self, recipe: Recipe, most: int | None = None) -> int:
        """Connect to the cluster, or start one, ask it for at most `most` workers, and return their number.

        Raises
        ------
        NotPicklableError
            If the recipe cannot be sent to another process.
        OptionError
            If the cluster cannot be reached, this process is connected to another one, or this machine has no room for
            a worker.
        """
        shipped = replace(recipe, open=Pickled(dumps(recipe.open)))
        self._connect()
        import ray

        # An actor or task that is lost is replaced by this engine: a new actor may be on another machine, which has
        # to report its versions first, and a text that ends its worker must not be repeated for ever.
        self._class = ray.remote(
            num_cpus=1, num_gpus=self._resources.gpus_per_worker or 0, max_restarts=0, max_task_retries=0
        )(Actor)
        self._recipe = ray.put(shipped)
        wanted = self._n_workers()
        n = wanted if most is None else min(wanted, most)
        for _ in range(n):
            self._start_one()
        return n

    def submit(self, task: Task) -> None:
        """Give a task to a worker."""
        self._pool.submit(task)

    def events(self, timeout: float) -> Sequence[Event]:
        """Return what has happened since the last call; wait up to `timeout` seconds if nothing has.

        Raises
        ------
        MaseError
            If a worker cannot open the explainer.
        """
        events: list[Event] = []
        until = time.monotonic() + timeout
        while not events:
            try:
                worker, future = self._inbox.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                break
            if worker in self._pool.workers:
                events.extend(self._handled(worker, future))
        self._pool.assign()
        return events

    def close(self) -> None:
        """End the actors, and the cluster if it was started here. Their worker processes end with them."""
        import ray

        # Ray 2.60 can lose the processor of an actor that is ended while it is created: no other actor gets it until
        # the cluster ends. Actors for which there is no room are waited for in vain.
        wait([worker.created for worker in self._pool.workers], _CREATE)
        for worker in self._pool.workers:
            with suppress(Exception):  # it may be gone, and so may the cluster
                ray.kill(worker.actor)
        self._pool.workers.clear()
        if self._connected:
            self._connected = False
            ray.shutdown()

    def _connect(self) -> None:
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        import ray

        if ray.is_initialized():
            _check_connected(self._resources.address)
            return
        address = self._resources.address or os.environ.get("RAY_ADDRESS") or "local"
        here = {"num_cpus": self._resources.jobs or usable_cores(), "include_dashboard": False}
        handler = signal.getsignal(signal.SIGTERM)
        try:
            _check_answers(address)
            ray.init(
                address=address, log_to_driver=False, logging_level="ERROR", **(here if address == "local" else {})
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise OptionError(
                f"the Ray cluster {without_password(address)!r:.200} cannot be reached ("
                f"{without_password(' '.join(str(error).split())):.300}), expected "
                "an address such as auto, host:6379 or ray://host:10001"
            ) from error
        finally:
            if handler is not None and current_thread() is main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray has put its own in this place
        self._connected = True

    def _n_workers(self) -> int:
        """Return how many workers to ask for."""
        import ray

        total, gpus = ray.cluster_resources(), self._resources.gpus_per_worker
        room = int(total.get("CPU", 0))
        if gpus is not None:
            room = min(room, int(total.get("GPU", 0) / gpus))
        if not room and self._resources.address is None:
            raise OptionError(
                f"this machine has {total.get('CPU', 0):g} processors and {total.get('GPU', 0):g} GPUs for Ray, "
                f"expected at least 1 and {gpus or 0:g}; give the address of a cluster that has them"
            )
        return self._resources.jobs or max(1, room)

    def _start_one(self) -> None:
        actor = self._class.remote(self._recipe, str(Path.cwd()), list(sys.path))
        self._pool.workers.append(_Handle(actor, self._inbox))

    def _handled(self, worker: _Handle, future: "Future[Any]") -> list[Event]:
        error = future.exception()
        if error is not None:
            return self._replaced(worker, error)
        result = future.result()
        if isinstance(result, Unable):
            raise as_error(*result)
        self._pool.count_start()
        if worker.is_ready:
            worker.tasks.popleft()
        worker.is_ready = True
        return list(result)

    def _replaced(self, worker: _Handle, error: BaseException) -> list[Event]:
        """Ask for another actor instead of one that is gone, and return what became of its tasks.

        If its machine is gone, all of its tasks are repeated. If only the actor has died, which Ray ends when memory
        is short, the task that it was at may be the reason.
        """
        import ray

        self._pool.workers.remove(worker)
        with suppress(Exception):
            ray.kill(worker.actor)
        events: list[Event] = []
        if not _machine_is_gone(error):
            if worker.tasks:
                death = WorkerError("the Ray actor ended while it explained the text, perhaps because memory ran out")
                events.append(Died(worker.tasks.popleft().number, "ray", death))
            else:
                self._pool.count_failed_start(len(self._pool.workers), lambda: " ".join(str(error).split()))
        self._pool.return_first(worker.tasks)
        self._start_one()
        return events


def _check_connected(address: str | None) -> None:
    """Check that an address is that of the cluster to which this process is connected."""
    import ray

    known = None
    with suppress(Exception):
        known = ray.get_runtime_context().gcs_address
    if known is None or address in (None, "auto", known):
        return
    if _endpoint(address) != _endpoint(known):
        raise OptionError(
            f"the address is {address!r:.200}, but this process is connected to the Ray cluster {known} already, "
            "expected no other address; leave it out to use that cluster, or call ray.shutdown() before"
        )


def _endpoint(address: str) -> tuple[str, str]:
    """Return the IP address and the port; of names of this machine that in the network, as Ray does."""
    from ray.util import get_node_ip_address

    host, _, port = address.rpartition(":")
    with suppress(OSError, UnicodeError):
        host = socket.gethostbyname(host)
    return get_node_ip_address() if host.startswith("127.") else host, port


def _check_answers(address: str) -> None:
    """Raise OSError if nothing answers at an address with a port. Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()


def _machine_is_gone(error: BaseException) -> bool:
    """Return whether an actor was lost with its machine, or cannot be reached."""
    from ray.exceptions import ActorDiedError, OutOfMemoryError, RayTaskError

    if isinstance(error, ActorDiedError):
        return bool(error.preempted) or "node has died" in str(error)
    return not isinstance(error, OutOfMemoryError | RayTaskError)
