"""Timers of a worker's blocks: who exceeds one is ended, over a queue and over a named pipe."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from rushlight.distributed.elastic import timer
from tests.distributed.jobs import environment


def test_who_exceeds_a_timer_is_killed():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    server = timer.LocalTimerServer(queue, max_interval=0.01)
    server.start()
    slow = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    queue.put(timer.TimerRequest(slow.pid, "scope", time.time()))
    try:
        assert slow.wait(20) == -signal.SIGKILL
    finally:
        slow.kill()
        server.stop()


def test_who_lets_it_go_is_not():
    queue = multiprocessing.get_context("fork").Queue()
    client = timer.LocalTimerClient(queue)
    with pytest.raises(RuntimeError, match="Configure timer client"), timer.expires(after=1):
        pass
    with timer.expires(after=1, client=client):
        pass
    asked, left = (queue.get(timeout=5) for _ in range(2))
    assert asked.worker_id == os.getpid() and asked.scope_id.startswith(f"{__file__}#")
    server = timer.LocalTimerServer(queue)
    server.register_timers([asked])
    assert list(server.get_expired_timers(time.time() + 2)) == [os.getpid()]
    server.register_timers([left])
    assert left.expiration_time < 0 and not server.get_expired_timers(time.time() + 2)


_SERVES = """
import sys, time
from rushlight.distributed.elastic import timer
server = timer.FileTimerServer(sys.argv[1], "run", max_interval=0.05)
server.start()
print("ready", flush=True)
time.sleep(60)
"""


def test_a_pipe_ends_the_worker_and_its_server(tmp_path):
    pipe = str(tmp_path / "pipe")
    with pytest.raises(BrokenPipeError, match="not available"):
        timer.FileTimerClient(pipe).acquire("scope", time.time())
    served = subprocess.Popen(
        [sys.executable, "-c", _SERVES, pipe], stdout=subprocess.PIPE, text=True, env=environment()
    )
    slow = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert served.stdout is not None and served.stdout.readline() == "ready\n"
        client = timer.FileTimerClient(pipe, signal.SIGTERM)
        request = timer.FileTimerRequest(slow.pid, "scope", time.time(), signal.SIGTERM)
        client._send_request(request)
        assert slow.wait(20) == -signal.SIGTERM and served.wait(20) == -signal.SIGTERM
    finally:
        slow.kill()
        served.kill()
