"""elastic_launch: functions and commands as workers."""

import os
import sys

import pytest

from rushlight.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from rushlight.distributed.elastic.multiprocessing.errors import ChildFailedError
from rushlight.distributed.elastic.utils.distributed import get_free_port
from rushlight.distributed.launcher import LaunchConfig, elastic_launch


def config(workers, **more):
    return LaunchConfig(1, 1, workers, run_id="test", rdzv_backend="c10d", max_restarts=0, **more)


def add_up(start):
    import rushlight as torch
    import rushlight.distributed as dist

    dist.init_process_group("gloo")
    found = torch.full((2,), float(start + dist.get_rank()))
    dist.all_reduce(found)
    dist.destroy_process_group()
    return int(os.environ["LOCAL_RANK"]), found.tolist()


def fail():
    if os.environ["RANK"] == "1":
        raise KeyError("not here")


def test_results_by_rank():
    assert elastic_launch(config(2), add_up)(3) == {0: (0, [7.0, 7.0]), 1: (1, [7.0, 7.0])}


def test_failures_by_rank():
    with pytest.raises(ChildFailedError, match="fail FAILED") as raised:
        elastic_launch(config(2), fail)()
    rank, first = raised.value.get_first_failure()
    assert (rank, first.local_rank, first.exitcode) == (1, 1, 1)
    assert first.message["message"] == "KeyError: 'not here'"


def test_commands_and_logs(tmp_path):
    logs = DefaultLogsSpecs(str(tmp_path), {0: Std.OUT}, Std.from_str("0"))
    found = elastic_launch(config(1, logs_specs=logs), sys.executable)("-c", "print('said')")
    assert found == {0: None} and (tmp_path / "test/attempt_0/0/stdout.log").read_text() == "said\n"
    assert Std.from_str("0:3,1:2") == {0: Std.ALL, 1: Std.ERR}
    with pytest.raises(ValueError, match="does not match"):
        Std.from_str("out")


def test_what_cannot_be_launched():
    assert 0 < get_free_port() < 65536
    with pytest.raises(ValueError, match="expected 'static' or 'c10d', got 'etcd'"):
        elastic_launch(LaunchConfig(1, 1, 1), fail)()
    with pytest.raises(ValueError, match="several nodes need"):
        elastic_launch(LaunchConfig(1, 2, 1, rdzv_backend="c10d"), fail)()


def test_a_launcher_of_ones_own(tmp_path):
    """It adds options to those of torchrun, and runs what is parsed already."""
    from rushlight.distributed.run import get_args_parser, run

    program = tmp_path / "program.py"
    program.write_text("import os, sys\nopen(sys.argv[1] + os.environ['RANK'], 'w').close()\n")
    options = get_args_parser()
    options.add_argument("--more", type=int)
    run(
        options.parse_args(["--standalone", "--nproc-per-node=2", "--more=3", str(program), f"{tmp_path}/at"])
    )
    assert {"at0", "at1"} <= set(os.listdir(tmp_path))
