"""python -m rushlight.run: start a training program in several processes, as torchrun does.

    rushlight-run --nproc-per-node 4 train.py --lr 0.1                   one machine
    rushlight-run --nnodes 2 --node-rank 0 --master-addr HOST train.py   each of two machines, with its rank
    rushlight-run --nnodes 1:4 --max-restarts 3 --rdzv-backend c10d --rdzv-endpoint HOST:29400 train.py

Programs are run as `python -m rushlight` runs them: `import torch` is Rushlight. Options and the environment
that workers see are torchrun's.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from rushlight.distributed.elastic.local_agent import Agent, Plan

_OPTIONS = (  # name, default, what it is
    ("nnodes", "1:1", "number of nodes, or MIN:MAX"),
    ("nproc-per-node", "1", "workers on this node: a number, auto, cpu or gpu"),
    ("rdzv-backend", "static", "static (with --node-rank) or c10d"),
    ("rdzv-endpoint", "", "HOST:PORT where nodes meet"),
    ("rdzv-id", "none", "the run's name, the same on all nodes"),
    ("rdzv-conf", "", "KEY=VALUE,...: timeout or join_timeout in seconds"),
    ("max-restarts", "0", "how often all workers are started anew when one has failed"),
    ("monitor-interval", "0.1", "accepted; failures are seen at once"),
    ("start-method", "spawn", "accepted; workers are programs of their own"),
    ("role", "default", "name of the workers' role"),
    ("log-dir", None, "folder for workers' logs"),
    ("node-rank", None, "rank of this node (static)"),
    ("master-addr", "127.0.0.1", "address of node 0 (static)"),
    ("master-port", "29500", "port on node 0 (static)"),
    ("local-addr", None, "accepted; nodes meet at the endpoint's address"),
)
_SHORT = {"redirects": "-r", "tee": "-t", "module": "-m"}


def parser(older: bool = False) -> argparse.ArgumentParser:
    """torchrun's options, each also with _ for -, and from the environment as PET_NAME.

    older: those of torch.distributed.launch, which has one more.
    """
    made = argparse.ArgumentParser(
        "rushlight-run", description="Start a program in several processes.", allow_abbrev=False
    )

    def add(name: str, **how: Any) -> None:
        names = [
            f"--{name}",
            *([f"--{name.replace('-', '_')}"] if "-" in name else []),
            *([_SHORT[name]] if name in _SHORT else []),
        ]
        made.add_argument(*names, dest=name.replace("-", "_"), **how)

    for name, default, text in _OPTIONS:
        add(name, default=os.environ.get(f"PET_{name.upper().replace('-', '_')}", default), help=text)
    for name in ("redirects", "tee"):
        add(
            name,
            default="0",
            help="1: stdout, 2: stderr, 3: both; to files in --log-dir"
            + (" and to the console" if name == "tee" else ""),
        )
    add("standalone", action="store_true", help="one node, which meets at a free port")
    add("module", action="store_true", help="the program is a module, as with python -m")
    add("no-python", action="store_true", help="the program is a command of its own, not run by Python")
    if older:
        add("use-env", action="store_true", help="give the program no --local-rank")
    made.add_argument("training_script", help="the program")
    made.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def get_args_parser() -> argparse.ArgumentParser:
    """torchrun's options, for a launcher of one's own, which adds to them and calls run()."""
    return parser()


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """A command line (None: this process's) by these options."""
    return parser().parse_args(args)


def _workers(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    raise ValueError(
        "Cuda is not available." if text == "gpu" else f"Unsupported nproc_per_node value: {text}"
    )


def plan(arguments: Sequence[str], older: bool = False) -> Plan:
    """What the command line asks for. ValueError for what cannot be."""
    return _planned(parser(older).parse_args(arguments), older)


def _planned(given: argparse.Namespace, older: bool = False) -> Plan:
    if older and given.no_python and not given.use_env:
        raise ValueError("When using the '--no-python' flag, you must also set the '--use-env' flag.")
    least, _, most = given.nnodes.partition(":")
    least, most = int(least), int(most or least)
    workers = _workers(given.nproc_per_node)
    if not 0 < least <= most or workers < 1:
        raise ValueError(
            f"--nnodes {given.nnodes}: expected 1 <= MIN <= MAX; --nproc-per-node {workers}: "
            "expected 1 or more"
        )
    local = ["--local-rank=${local_rank}"] if older and not given.use_env else []
    script = [*(["-m"] if given.module else []), given.training_script, *local, *given.training_script_args]
    conf = dict(pair.split("=", 1) for pair in given.rdzv_conf.split(",") if pair)
    python = [] if given.no_python else [sys.executable, "-u", "-m", "rushlight.distributed.worker"]
    made = Plan(
        [*python, *script],
        workers,
        least,
        most,
        restarts=int(given.max_restarts),
        run=given.rdzv_id,
        role=given.role,
        timeout=float(conf.get("join_timeout") or conf.get("timeout") or 600),
        log_dir=given.log_dir,
        redirects=int(given.redirects),
        tee=int(given.tee),
    )
    if workers > 1 and "OMP_NUM_THREADS" not in os.environ:
        made.environment = {"OMP_NUM_THREADS": "1"}  # as torchrun: workers share the processors
    if given.standalone or (most == 1 and given.rdzv_backend == "c10d" and not given.rdzv_endpoint):
        made.least = made.most = 1
        made.run = uuid.uuid4().hex
    else:
        _meeting_point(made, given)
    return made


def _meeting_point(made: Plan, given: argparse.Namespace) -> None:
    host, _, port = given.rdzv_endpoint.rpartition(":") if given.rdzv_endpoint else ("", "", "")
    if given.rdzv_backend == "static":
        made.host, made.port = host or given.master_addr, int(port or given.master_port)
        made.node_rank = int(given.node_rank or 0)
        if made.most > 1 and given.node_rank is None:
            raise ValueError("--node-rank is needed with several nodes, or --rdzv-backend c10d")
        made.hosts_hub = made.node_rank == 0
    elif given.rdzv_backend == "c10d":
        made.host, made.port = (host, int(port)) if host else (given.rdzv_endpoint, 29400)
        made.hosts_hub = is_here(made.host)
    else:
        raise ValueError(f"--rdzv-backend {given.rdzv_backend}: expected static or c10d")


def is_here(host: str) -> bool:
    """Whether the name is this machine's: an address that can be bound here."""
    try:
        with socket.socket() as probe:
            probe.bind((host, 0))
        return True
    except OSError:
        return False


def main(args: Sequence[str] | None = None, older: bool = False) -> None:
    """The command rushlight-run; exits with status 1 when the run failed, naming the cause."""
    _run(lambda: plan(sys.argv[1:] if args is None else args, older))


def run(args: argparse.Namespace) -> None:
    """A run by options that are parsed already; exits with status 1 when it failed, naming the cause."""
    _run(lambda: _planned(args))


def _run(asked: Callable[[], Plan]) -> None:
    try:
        agent = Agent(asked())
    except (ValueError, OSError) as error:
        sys.exit(f"rushlight.run: {error}")
    status = agent.run()
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
