"""Workers that a program's own agent starts: their results, failures, output and end."""

import os
import signal
import sys
import time

import pytest

from rushlight.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std, start_processes, to_map


@pytest.fixture(autouse=True)
def _handlers():
    """Starting workers puts handlers of signals in place."""
    before = {number: signal.getsignal(number) for number in (1, 2, 3, 15)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def told(word, code=0):
    print(word, os.environ["RANK"])
    print("badly", file=sys.stderr)
    if code:
        raise ValueError("a mistake of my own")
    return word * 2


def environments():
    return {0: {"RANK": "0"}, 1: {"RANK": "1"}}


def read(path):
    with open(path) as file:
        return file.read()


def test_streams():
    assert Std.from_str("3") == Std.ALL and Std.from_str("0:1,1:2") == {0: Std.OUT, 1: Std.ERR}
    for wrong in ("11", "0:1,", "1,0:1", "4"):
        with pytest.raises(ValueError, match="does not match"):
            Std.from_str(wrong)
    assert to_map({1: Std.OUT}, 2) == {0: Std.NONE, 1: Std.OUT}


def test_functions(tmp_path):
    logs = DefaultLogsSpecs(str(tmp_path), redirects=Std.OUT, tee={1: Std.ERR})
    started = start_processes("w", told, {0: ("a",), 1: ("b",)}, environments(), logs)
    result = started.wait(period=0.05)
    assert result.return_values == {0: "aa", 1: "bb"} and not result.is_failed()
    assert read(result.stdouts[1]) == "b 1\n" and result.stderrs[0] == ""
    assert read(result.stderrs[1]) == "badly\n" and started._stderr_tail.stopped()


def test_a_function_that_fails(tmp_path):
    logs = DefaultLogsSpecs(str(tmp_path))
    started = start_processes("w", told, {0: ("a", 1), 1: ("b",)}, environments(), logs, start_method="fork")
    failure = started.wait(period=0.05).failures[0]
    assert failure.exitcode == 1 and failure.pid == started.pids()[0]
    assert "a mistake of my own" in failure.message["message"]
    assert failure.error_file.endswith("attempt_0/0/error.json")


_forks = [0]


def _dawdle():
    """In the second of two forked workers: long enough for the first to fail meanwhile."""
    if _forks[0] == 2:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            time.sleep(0.01)


def test_a_worker_that_is_stopped_while_it_starts(tmp_path):
    """What a handler raises inside a hook of fork() is dropped: the signal has to wait."""
    os.register_at_fork(before=lambda: _forks.__setitem__(0, _forks[0] + 1), after_in_child=_dawdle)
    logs = DefaultLogsSpecs(str(tmp_path))
    started = start_processes("w", told, {0: ("a", 1), 1: ("b",)}, environments(), logs, start_method="fork")
    assert started.wait(period=0.05).failures[0].exitcode == 1
    assert started._pc.processes[1].exitcode != -signal.SIGKILL


def test_programs(tmp_path):
    logs = DefaultLogsSpecs(str(tmp_path), redirects=Std.ALL)
    code = "import os, sys, time; print('rank', os.environ['RANK']); time.sleep(30 * int(sys.argv[1]))"
    started = start_processes("w", sys.executable, {0: ("-c", code, 0)}, {0: {"RANK": "0"}}, logs)
    result = started.wait(period=0.05)
    assert result.return_values == {0: None} and read(result.stdouts[0]) == "rank 0\n"
    started = start_processes("w", sys.executable, {0: ("-c", code, 1)}, {0: {"RANK": "0"}}, logs)
    begun = time.monotonic()
    assert started.wait(timeout=0) is None
    started.close(signal.SIGTERM)
    assert time.monotonic() - begun < 20 and started.wait(timeout=0).failures[0].exitcode == -signal.SIGTERM


def test_mistakes(tmp_path):
    logs = DefaultLogsSpecs(str(tmp_path))
    with pytest.raises(RuntimeError, match="local rank mapping mismatch"):
        start_processes("w", told, {0: ("a",)}, environments(), logs)
    with pytest.raises(FileNotFoundError):
        start_processes("w", "no such program", {0: ()}, {0: {}}, logs)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        DefaultLogsSpecs(str(tmp_path / "file"))
