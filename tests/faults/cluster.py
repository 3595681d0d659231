"""Faults on Ray: kills of the driver, of an actor, and of a machine of a cluster of two."""

import signal
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil

from tests.faults.command import Command, waited
from tests.faults.kinds import Local, kill_one

__all__ = ["KillActor", "KillMachine", "KillOnRay"]

# Ray notices after half a minute that a machine is gone. Here it looks more often, since many are lost.
_WATCHFUL = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_timeout_ms": 1000,
             "health_check_failure_threshold": 3}  # fmt: skip


@dataclass
class KillOnRay(Local):
    """`kill -9` of a driver that has started Ray on this machine."""

    options: tuple[str, ...] = ("--engine", "ray", "--jobs", "2")
    codes: tuple[int, ...] = (-signal.SIGKILL,)

    def workers(self, command: Command) -> list[psutil.Process]:
        """Return the actors and the processes that they started."""
        return _actors(command.below())

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Kill the driver."""
        return command.signal(signal.SIGKILL)


@dataclass
class KillActor(Local):
    """`kill -9` of an actor, which the driver survives."""

    options: tuple[str, ...] = ("--engine", "ray", "--jobs", "2")

    def workers(self, command: Command) -> list[psutil.Process]:
        """Return the actors."""
        return [process for process in command.below() if _is_actor(process)]

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Kill one of the actors, once there is one."""
        waited(lambda: not command.alive or bool(self.workers(command)), 60)
        return kill_one(self.workers(command), command, rng)


@dataclass
class KillMachine(Local):
    """The loss of one of two machines of a cluster, all its processes at once. Another one joins."""

    _nodes: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": _WATCHFUL},
        )
        self._nodes.append(self._cluster.add_node(num_cpus=1))
        self.options = ("--engine", "ray", "--address", self._cluster.address, "--jobs", "2")

    def workers(self, command: Command) -> list[psutil.Process]:
        """Return the actors of the second machine."""
        return [process for process in self._processes() if _is_actor(process)]

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Kill all processes of the second machine while an actor is there, and let another machine join."""
        if not waited(lambda: not command.alive or bool(self.workers(command)), 60) or not command.alive:
            return False
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._cluster.remove_node(self._nodes.pop(), allow_graceful=False)
        self._nodes.append(self._cluster.add_node(num_cpus=1))
        return True

    def close(self) -> None:
        """Stop the cluster."""
        self._cluster.shutdown()

    def _processes(self) -> list[psutil.Process]:
        found = []
        for info in (info for infos in self._nodes[0].all_processes.values() for info in infos):
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(info.process.pid)
                found += [process, *process.children(recursive=True)]
        return found


def _actors(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those of some processes that are actors, or were started by one."""
    found = [process for process in processes if _is_actor(process)]
    for actor in list(found):
        with suppress(psutil.NoSuchProcess):
            found += actor.children(recursive=True)
    return found


def _is_actor(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.name().startswith("ray::Actor") or "".join(process.cmdline()).startswith("ray::Actor")
    return False
