"""elastic_launch: what `python -m rushlight.run` does, for a function: started as workers, its results
collected.
"""

from __future__ import annotations

import pickle
import signal
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from rushlight.distributed.elastic.local_agent import Agent, Plan
from rushlight.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, LogsSpecs, SignalException
from rushlight.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from rushlight.distributed.run import is_here

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

_ENTRY = "rushlight.distributed.elastic.multiprocessing.entry"


@dataclass
class LaunchConfig:
    """How many workers, on how many nodes, and where those meet.

    rdzv_backend: "c10d" (one of the nodes is `rdzv_endpoint`, HOST:PORT; may be "" with one node) or
    "static" (then
    rdzv_configs has the node's "rank"). max_restarts: how often all workers are started anew when one fails.
    logs_specs: files for what workers print. The options that are not named here are accepted and change
    nothing:
    workers are programs of their own, and failures are seen at once.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        default = self.rdzv_timeout if self.rdzv_timeout != -1 else 900
        self.rdzv_configs.setdefault("timeout", default)
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()


class elastic_launch:
    """Start `entrypoint` in the workers of a LaunchConfig: elastic_launch(config, main)(*args).

    entrypoint: a function that can be pickled, or a command. The answer is a dict of the results of this
    node's
    workers, by rank; None of commands. ChildFailedError where workers fail.
    """

    def __init__(
        self,
        config: LaunchConfig,
        entrypoint: Callable[..., Any] | str | None,
        health_check_server: Any = None,
    ) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        """The results of this node's workers, by rank."""
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig,
    entrypoint: Callable[..., Any] | str | None,
    args: list[Any],
    health_check_server: Any = None,
) -> dict[int, Any]:
    """elastic_launch(config, entrypoint)(*args)."""
    config.run_id = config.run_id or str(uuid.uuid4().int)
    with tempfile.TemporaryDirectory(prefix="rushlight_launch_") as folder:
        agent = Agent(_plan(config, _command(entrypoint, args, Path(folder))))
        with _signals_put_back():
            status = agent.run()
        if status > 128:
            raise SignalException(f"Process got signal: {status - 128}", signal.Signals(status - 128))
        if status:
            raise ChildFailedError(_name(entrypoint, args), _failures(agent, Path(folder)))
        return {rank: _result(Path(folder) / f"result_{rank}") for rank in agent.ranks}


def _command(entrypoint: Any, args: list[Any], folder: Path) -> list[str]:
    if isinstance(entrypoint, str):
        return [entrypoint, *map(str, args)]
    if not callable(entrypoint):
        raise ValueError(f"elastic_launch: expected a function or a command, got {entrypoint!r}")
    # As multiprocessing's spawn hands it over, but for the key of its connections, which is a secret.
    preparation = spawn.get_preparation_data("worker")
    del preparation["authkey"]
    with open(folder / "call", "wb") as file:
        pickle.dump(preparation, file)
        pickle.dump((entrypoint, tuple(args)), file)
    return [sys.executable, "-u", "-m", _ENTRY, str(folder)]


def _plan(config: LaunchConfig, command: list[str]) -> Plan:
    logs: Any = config.logs_specs
    plan = Plan(
        command,
        config.nproc_per_node,
        config.min_nodes,
        config.max_nodes,
        restarts=config.max_restarts,
        run=config.run_id,
        role=config.role,
        timeout=float(config.rdzv_configs["timeout"]),
        log_dir=logs._root_log_dir,
        redirects=logs._redirects,
        tee=logs._tee,
    )
    host, _, port = config.rdzv_endpoint.rpartition(":")
    if config.rdzv_backend == "static":
        if not host:
            raise ValueError("Endpoint is missing in endpoint. Try to add --master-addr and --master-port")
        plan.host, plan.port = host, int(port)
        plan.node_rank = int(config.rdzv_configs.get("rank", 0))
        plan.hosts_hub = plan.node_rank == 0
    elif config.rdzv_backend != "c10d":
        raise ValueError(f"rdzv_backend: expected 'static' or 'c10d', got {config.rdzv_backend!r}")
    elif config.rdzv_endpoint and (config.max_nodes > 1 or host):
        plan.host, plan.port = (host, int(port)) if host else (config.rdzv_endpoint, 29400)
        plan.hosts_hub = is_here(plan.host)
    elif config.max_nodes > 1:
        raise ValueError("rdzv_endpoint: several nodes need HOST:PORT where they meet")
    return plan


@contextmanager
def _signals_put_back() -> Iterator[None]:
    """The handlers that an agent puts in place are its own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def _name(entrypoint: Any, args: list[Any]) -> str:
    """What an error calls the entrypoint: the function's name, or the program's."""
    if not isinstance(entrypoint, str):
        return str(getattr(entrypoint, "__qualname__", entrypoint))
    return (
        next((a for a in map(str, args) if not a.startswith("-")), "")
        if entrypoint == sys.executable
        else entrypoint
    )


def _failures(agent: Agent, folder: Path) -> dict[int, ProcessFailure]:
    return {
        rank: ProcessFailure(local, pid, code, str(folder / f"error_{rank}.json"))
        for rank, (local, pid, code) in agent.failures.items()
    } or {-1: ProcessFailure(-1, -1, 1, "")}


def _result(file: Path) -> Any:
    return pickle.loads(file.read_bytes()) if file.exists() else None
