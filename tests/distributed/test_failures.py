"""What happens to the others when a rank fails: they are told which and why, at once, and nothing is left."""

import os
import re
import sys
import time

import pytest

pytest.importorskip("mpi4py")

from tests.distributed import jobs

PROGRAM = [sys.executable, "-m", "rushlight", str(jobs.PROGRAMS / "failing.py")]


def told(ended):
    """(exception, seconds, rank blamed, message) that a survivor printed."""
    found = re.search(r"(\w+) after ([\d.]+): (\w+): (.*)", ended.out, re.DOTALL)
    assert found, ended.out + ended.err
    return found[1], float(found[2]), found[3], found[4]


@pytest.mark.parametrize(
    ("how", "code", "reason"),
    [
        ("kill", -9, "gone without a word"),
        ("raise", 1, "ValueError: a mistake of my own"),
        ("exit", 3, "left after operation #3"),
        ("_exit", 4, "gone without a word"),
        ("early", 0, "left after operation #3"),
    ],
)
def test_survivors_are_told_who_and_why(how, code, reason):
    before = jobs.in_shared_memory()
    ended = jobs.ranks([*PROGRAM, how], 3)
    assert [rank.code for rank in ended] == [1, code, 1]
    for rank in (0, 2):
        kind, seconds, blamed, message = told(ended[rank])
        assert (kind, blamed) == ("RankFailure", "1")
        assert reason in message and "all_reduce #" in message and "float32(100000,)" in message
        # Measured 0.05 s; a loaded machine may take longer, but nobody waits for a timeout.
        assert seconds < 5
    assert not jobs.left_in_shared_memory(before)


def test_rank_0_may_fail_too():
    """It began the hub, which lives on without it."""
    ended = jobs.ranks([*PROGRAM, "kill"], 3, each={rank: {"VICTIM": "0"} for rank in range(3)})
    assert [rank.code for rank in ended] == [-9, 1, 1]
    assert {told(ended[rank])[2] for rank in (1, 2)} == {"0"}


@pytest.mark.parametrize(
    "code",
    [
        "dist.new_group()",
        "dist.recv(torch.ones(3), 1)",
        "dist.all_reduce(torch.ones(3), async_op=True).wait()",
        "dist.barrier()",
        "dist.all_gather_object([None] * 2, 'x')",
        "dist.all_reduce(torch.ones(30).bfloat16())",
    ],
)
def test_whatever_waits_is_told(code, tmp_path):
    script = tmp_path / "waits.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group()\ndist.barrier()\n"
        f"os._exit(2) if dist.get_rank() == 1 else {code}\n"
    )
    ended = jobs.ranks([sys.executable, "-m", "rushlight", str(script)], 2)
    assert [rank.code for rank in ended] == [1, 2]
    assert "aborted: rank 1 failed: its process" in ended[0].err.splitlines()[-1]


def test_different_collectives_end_by_timeout_with_a_table():
    ended = jobs.ranks([*PROGRAM, "other"], 3, each={rank: {"LIMIT": "2"} for rank in range(3)}, timeout=60)
    assert [rank.code for rank in ended] == [1, 1, 1]
    # Whose time is over first tells the table, and who has not come to the end of its own is told of that.
    kinds, _, _, messages = zip(*map(told, ended))
    assert "DistBackendError" in kinds and set(kinds) <= {"DistBackendError", "RankFailure"}
    assert all("timed out after 2 s" in message for message in messages)
    assert any(
        re.search(r"rank 0: .*all_reduce #4", message) and re.search(r"rank 1: .*broadcast #4", message)
        for message in messages
    )


def test_monitored_barrier_names_who_is_late():
    ended = jobs.ranks([*PROGRAM, "late"], 2, each={rank: {"LIMIT": "2"} for rank in range(2)}, timeout=40)
    kind, _, _, message = told(ended[0])
    assert kind == "DistBackendError" and message.startswith(
        "Rank 1 failed to pass monitoredBarrier in 2000 ms"
    )


def test_different_world_sizes_are_refused():
    ended = jobs.ranks([*PROGRAM, "fine"], 2, each={1: {"WORLD_SIZE": "3"}})
    assert [rank.code for rank in ended] == [5, 5]
    for rank in ended:
        assert "start all ranks with the same world size" in rank.out


def test_who_has_not_come_is_said():
    ended = jobs.ranks(
        [*PROGRAM, "slow start"], 3, each={rank: {"LIMIT": "6"} for rank in range(3)}, timeout=60
    )
    assert [rank.code for rank in ended] == [5, 0, 5]
    assert "only 2 of 3 ranks have come: 0 (" in ended[0].out


def test_two_processes_of_one_rank_are_refused():
    ended = jobs.ranks([*PROGRAM, "fine"], 3, each={2: {"RANK": "1"}})
    assert [rank.code for rank in ended] == [5, 5, 5]
    assert "two processes say that they are rank 1" in ended[0].out


def test_no_helper_is_left():
    ended = jobs.ranks([*PROGRAM, "kill"], 2)
    assert ended[1].code == -9
    end = time.monotonic() + 5
    while (left := helpers()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left


def helpers():
    """Hubs' processes whose parents have ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/stat", "rb") as stat:
                command = line.read()
                if (
                    b"hub import main" in command
                    and os.fsencode(jobs.ROOT) in command
                    and (stat.read().rpartition(b")")[2].split()[1] == b"1")
                ):
                    found.append(pid)
        except OSError:
            pass
    return found
