"""rushlight-run: what workers see, restarts, several nodes, and how failures end a run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")

from tests.distributed import jobs

FAILING = str(jobs.PROGRAMS / "failing.py")
SHOW = """
import json, os, sys
import torch, torch.distributed as dist
names = ("RANK LOCAL_RANK GROUP_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR TORCHELASTIC_RESTART_COUNT"
         " TORCHELASTIC_MAX_RESTARTS").split()
sys.stdout.write(json.dumps({name: os.environ[name] for name in names} | {
    "arguments": sys.argv[1:], "torch": torch.__name__, "name": __name__,
    "launched": dist.is_torchelastic_launched()}) + "\\n")
"""


@pytest.fixture
def show(tmp_path):
    path = tmp_path / "show.py"
    path.write_text(SHOW)
    return path


def test_workers_see_torchruns_environment(show):
    done = jobs.launch(
        ["--standalone", "--nproc_per_node=2", "--max-restarts", "2", str(show), "--lr", "0.1"]
    )
    assert done.code == 0, done.err
    seen = sorted((json.loads(line) for line in done.out.splitlines()), key=lambda worker: worker["RANK"])
    assert [(w["RANK"], w["LOCAL_RANK"], w["GROUP_RANK"]) for w in seen] == [("0", "0", "0"), ("1", "1", "0")]
    assert {(w["WORLD_SIZE"], w["LOCAL_WORLD_SIZE"], w["TORCHELASTIC_MAX_RESTARTS"]) for w in seen} == {
        ("2", "2", "2")
    }
    assert seen[0] | {"RANK": "", "LOCAL_RANK": ""} == seen[1] | {"RANK": "", "LOCAL_RANK": ""}
    assert seen[0]["arguments"] == ["--lr", "0.1"] and seen[0]["torch"] == "torch"
    assert seen[0]["name"] == "__main__" and seen[0]["launched"]


def test_modules_other_commands_and_the_other_name(show):
    by_module = subprocess.run(
        [sys.executable, "-m", "rushlight.distributed.launch", "--standalone", "-m", "show"],
        cwd=show.parent,
        capture_output=True,
        text=True,
        env=jobs.environment(),
        timeout=20,
    )
    assert by_module.returncode == 0 and json.loads(by_module.stdout)["RANK"] == "0", by_module.stderr
    done = jobs.launch(["--standalone", "--no-python", "sh", "-c", "echo rank $RANK; exit 7"])
    assert (done.code, done.out) == (1, "rank 0\n") and "exited with code 7" in done.err


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("kill", "killed by signal SIGKILL"),
        ("raise", "ValueError: a mistake"),
        ("exit", "exited with code 3"),
        ("_exit", "exited with code 4"),
    ],
)
def test_a_failure_ends_all_and_is_named(how, reason):
    before = jobs.in_shared_memory()
    done = jobs.launch(["--standalone", "--nproc-per-node", "3", FAILING, how])
    assert done.code == 1
    assert f"rank 1 failed: {reason}" in done.err.replace(f"pid {pid_in(done.err)} ", ""), done.err
    assert not jobs.left_in_shared_memory(before)


def pid_in(text):
    return text.partition("failed: pid ")[2].partition(" ")[0]


def test_restarts_begin_a_new_generation():
    done = jobs.launch(["--standalone", "--nproc-per-node", "2", "--max-restarts", "1", FAILING, "kill"])
    assert done.code == 0, done.err
    assert sorted(line for line in done.out.splitlines() if line.startswith("rank")) == [
        "rank 0 of 2, attempt 1: 8",
        "rank 1 of 2, attempt 1: 8",
    ]


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_two_nodes(backend):
    port = jobs.free_port()
    meeting = {
        "static": ["--master-port", str(port)],
        "c10d": ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}"],
    }[backend]
    nodes = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "rushlight.run",
                "--nnodes",
                "2",
                *meeting,
                "--node-rank",
                str(node),
                "--nproc-per-node",
                "2",
                FAILING,
                "fine",
            ],
            stdout=subprocess.PIPE,
            text=True,
            env=jobs.environment(),
        )
        for node in range(2)
    ]
    out = [node.communicate(timeout=20)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0]
    assert sorted("".join(out).splitlines()) == [f"rank {rank} of 4, attempt 0: 64" for rank in range(4)]


def test_a_lost_node_leaves_the_others(tmp_path):
    port = jobs.free_port()
    command = [
        sys.executable,
        "-m",
        "rushlight.run",
        "--nnodes",
        "1:2",
        "--rdzv-backend",
        "c10d",
        "--max-restarts",
        "1",
        "--rdzv-endpoint",
        f"127.0.0.1:{port}",
        FAILING,
        "wait",
    ]
    nodes = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=jobs.environment()
        )
    ]
    time.sleep(0.7)  # the first one keeps the hub
    nodes.append(
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=jobs.environment()
        )
    )
    time.sleep(2.0)
    nodes[1].kill()
    out, err = nodes[0].communicate(timeout=20)
    assert nodes[0].returncode == 0, err
    assert "is lost" in err and out.splitlines()[-1] == "rank 0 of 1, attempt 1: 1"


def test_an_interrupt_ends_the_workers(tmp_path):
    script = tmp_path / "sleep.py"
    script.write_text("import os, time\nos.write(1, b'%d\\n' % os.getpid())\ntime.sleep(60)\n")
    agent = subprocess.Popen(
        [sys.executable, "-m", "rushlight.run", "--standalone", "--nproc-per-node", "2", str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env=jobs.environment(),
    )
    workers = [int(agent.stdout.readline()) for _ in range(2)]
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(timeout=15) == 128 + signal.SIGTERM
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)


def test_workers_die_with_their_agent(tmp_path):
    script = tmp_path / "sleep.py"
    script.write_text("import os, time\nos.write(1, b'%d\\n' % os.getpid())\ntime.sleep(60)\n")
    agent = subprocess.Popen(
        [sys.executable, "-m", "rushlight.run", "--standalone", str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env=jobs.environment(),
    )
    worker = int(agent.stdout.readline())
    agent.kill()
    agent.wait()
    end = time.monotonic() + 5
    while os.path.exists(f"/proc/{worker}") and time.monotonic() < end:
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{worker}")


def test_logs_and_recorded_errors(tmp_path):
    script = tmp_path / "fail.py"
    script.write_text(
        "from torch.distributed.elastic.multiprocessing.errors import record\n"
        "@record\ndef main():\n    print('hello')\n    raise ValueError('recorded')\nmain()\n"
    )
    done = jobs.launch(
        [
            "--rdzv-id",
            "r1",
            "--master-port",
            str(jobs.free_port()),
            "--log-dir",
            str(tmp_path / "logs"),
            "--redirects",
            "2",
            "--tee",
            "1",
            str(script),
        ]
    )
    folder = tmp_path / "logs" / "r1" / "attempt_0" / "0"
    assert done.code == 1 and done.out == "[default0]:hello\n"
    assert (folder / "stdout.log").read_text() == "hello\n"
    assert "ValueError: recorded" in (folder / "stderr.log").read_text()
    told = json.loads((folder / "error.json").read_text())
    assert told["message"]["message"] == "ValueError: recorded"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--nnodes", "2", "x.py"], "--node-rank is needed"),
        (["--nproc-per-node", "gpu", "x.py"], "Cuda is not available"),
        (["--nnodes", "3:2", "x.py"], "expected 1 <= MIN <= MAX"),
        (["--rdzv-backend", "etcd", "x.py"], "static or c10d"),
    ],
)
def test_what_cannot_be_is_refused(arguments, told):
    done = jobs.launch(arguments)
    assert done.code == 1 and told in done.err


def test_mpiexec_may_start_the_ranks():
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("MPICH's mpiexec is not here")
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-m", "rushlight", FAILING, "fine"],
        capture_output=True,
        text=True,
        timeout=20,
        env=jobs.environment(),
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 of 2, attempt 0: 8", "rank 1 of 2, attempt 0: 8"]


def test_the_older_name_gives_local_ranks_as_arguments(tmp_path):
    program = tmp_path / "told.py"
    program.write_text("import sys; sys.stdout.write(' '.join(sys.argv[1:]) + '\\n')")
    given = ["--nproc-per-node", "2", "--master-port", str(jobs.free_port())]
    for more, wanted in (([], ["--local-rank=0 x", "--local-rank=1 x"]), (["--use-env"], ["x", "x"])):
        done = subprocess.run(
            [sys.executable, "-m", "rushlight.distributed.launch", *given, *more, str(program), "x"],
            capture_output=True,
            text=True,
            timeout=60,
            env=jobs.environment(),
        )
        assert sorted(done.stdout.splitlines()) == wanted, done.stderr
