"""Stores: what each kind answers, alone and between threads and processes."""

import fcntl
import os
import socket
import sys
import threading
import time
from datetime import timedelta

import pytest

import rushlight.distributed as dist
from tests.distributed import jobs


@pytest.fixture(params=["tcp", "hash", "file", "prefix"])
def store(request, tmp_path):
    made = {
        "tcp": lambda: dist.TCPStore("127.0.0.1", 0, None, True),
        "hash": dist.HashStore,
        "file": lambda: dist.FileStore(str(tmp_path / "file"), 1),
        "prefix": lambda: dist.PrefixStore("p", dist.HashStore()),
    }[request.param]()
    made.set_timeout(timedelta(seconds=0.2))
    return made


def test_values(store):
    store.set("a", "1")
    store.set("b", b"x\0y")
    assert (store.get("a"), store.get("b")) == (b"1", b"x\0y")
    assert [store.add("n", 5), store.add("n", -7)] == [5, -2] and store.get("n") == b"-2"
    store.append("a", "2")
    assert store.get("a") == b"12"
    assert store.num_keys() == (4 if isinstance(store, dist.FileStore) else 3)  # with its count of stores
    assert store.check(["a", "b"]) and not store.check(["a", "c"])
    assert store.delete_key("a") and not store.check(["a"])
    store.multi_set(["k", "l"], ["1", "2"])
    assert store.multi_get(["k", "l"]) == [b"1", b"2"]


def test_compare_set(store):
    steps = [("c", "", "v1"), ("c", "no", "v2"), ("c", "v1", "v3"), ("d", "foo", "v")]
    assert [store.compare_set(*step) for step in steps] == [b"v1", b"v1", b"v3", b"foo"]


def test_waiting(store):
    with pytest.raises(RuntimeError, match="timeout"):
        store.get("absent")
    with pytest.raises(dist.DistStoreError):
        store.wait(["absent"], timedelta(milliseconds=10))
    store.set_timeout(timedelta(seconds=10))
    other = store.clone()
    threading.Timer(0.05, lambda: other.set("later", "x")).start()
    assert store.get("later") == b"x"


def test_barrier(store):
    """All callers with one key wait for each other, as often as they come."""
    for _ in range(2):
        store.barrier("alone", 1)
    with pytest.raises(RuntimeError):
        store.barrier("pair", 2, timedelta(seconds=0.05))
    store.barrier("pair", 2)


def test_mistakes(store):
    with pytest.raises(TypeError):
        store.set("a", 1)
    store.set("q", "abc")
    with pytest.raises((ValueError, dist.DistNetworkError)):
        store.add("q", 1)


def test_addresses():
    kept = dist.TCPStore("127.0.0.1", 0, None, True)
    with pytest.raises(dist.DistNetworkError, match="failed to listen"):
        dist.TCPStore("127.0.0.1", kept.port, None, True)
    with pytest.raises(dist.DistNetworkError, match="timed out after 200ms"):
        dist.TCPStore("127.0.0.1", 1, None, False, timedelta(seconds=0.2))
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timedelta(seconds=0.2))


def test_a_port_is_free_when_its_store_has_gone():
    port = dist.TCPStore("127.0.0.1", 0, None, True).port
    for _ in range(20):
        dist.TCPStore("127.0.0.1", port, None, True).set("a", "x")


def test_adding_from_many_threads():
    kept = dist.TCPStore("127.0.0.1", 0, None, True)
    clients = [kept.clone() for _ in range(4)]
    threads = [threading.Thread(target=lambda c=c: [c.add("n", 1) for _ in range(200)]) for c in clients]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert kept.get("n") == b"800"


@pytest.mark.parametrize("size", [1 << 16, 1 << 24])
def test_large_values(size):
    kept = dist.TCPStore("127.0.0.1", 0, None, True)
    kept.set("large", b"x" * size)
    assert len(kept.get("large")) == size


def test_a_file_between_processes(tmp_path):
    code = (
        "import os, sys, time, rushlight.distributed as dist\n"
        "store = dist.FileStore(sys.argv[1], 3)\n"
        "[store.add('n', 1) for _ in range(100)]\n"
        "store.set(os.environ['RANK'], 'here'); store.wait(['0', '1', '2']); print(store.get('n').decode())\n"
        "store.add('end', 1)\n"
        "while store.add('end', 0) < 3: time.sleep(0.01)\n"
    )
    ended = jobs.ranks([sys.executable, "-c", code, str(tmp_path / "file")], 3, timeout=60)
    assert [rank.out for rank in ended] == ["300\n"] * 3, ended[0].err
    assert not (tmp_path / "file").exists()


def test_a_file_whose_stores_close_at_once(tmp_path):
    """Each closing is one step: the last of them removes the file, whoever comes first to what."""
    for _ in range(20):
        path = str(tmp_path / "file")
        stores = [dist.FileStore(path, 4) for _ in range(4)]
        ready = threading.Barrier(4)

        def close(log, ready=ready):
            ready.wait()
            log.close(4, os.getpid())

        threads = [threading.Thread(target=close, args=(store._log,)) for store in stores]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not (tmp_path / "file").exists()


def test_a_file_that_is_removed_is_made_anew(tmp_path):
    old = dist.FileStore(str(tmp_path / "file"), 1)
    old.set("a", "x")
    with open(tmp_path / "file", "a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        made = []
        thread = threading.Thread(target=lambda: made.append(dist.FileStore(str(tmp_path / "file"), 1)))
        thread.start()
        time.sleep(0.1)  # it has opened the file and waits for the lock
        (tmp_path / "file").unlink()
    thread.join()
    made[0].set("b", "y")
    assert dist.FileStore(str(tmp_path / "file"), 3).get("b") == b"y"


class Own(dist.Store):
    """A program's store, of what PyTorch asks for."""

    def __init__(self):
        super().__init__()
        self.values = {}

    def set(self, key, value):
        self.values[key] = value

    def get(self, key):
        return self.values[key]

    def compare_set(self, key, expected, desired):
        if self.values.get(key, b"") == expected:
            self.values[key] = desired
        return self.values.get(key, expected)


def test_own_store():
    own = Own()
    store = dist.PrefixStore("p", own)
    store.set("a", "x")
    assert own.values == {"p/a": b"x"}  # bytes, whatever was given
    assert not store.has_extended_api() and not own.has_extended_api()
    store.append("a", "y")
    store.append("b", "z")
    store.multi_set(["k", "l"], ["1", b"2"])
    assert store.multi_get(["a", "b", "k", "l"]) == [b"xy", b"z", b"1", b"2"]


def test_own_store_lacks():
    class Bare(dist.Store):
        pass

    for store in (Bare(), dist.PrefixStore("p", Bare())):
        for name, args in (("append", ("a", "b")), ("multi_get", (["a"],)), ("multi_set", (["a"], ["b"]))):
            with pytest.raises(RuntimeError, match="Not implemented."):
                getattr(store, name)(*args)


def test_extended_api():
    stores = [dist.HashStore(), dist.TCPStore("127.0.0.1", 0, None, True)]
    assert all(store.has_extended_api() for store in stores)


@pytest.mark.parametrize(("world_size", "stays"), [(-1, True), (0, False), (1, False), (2, True)])
def test_file_goes_with_its_last_store(tmp_path, world_size, stays):
    path = tmp_path / "file"
    first = dist.FileStore(str(path), world_size)
    second = dist.FileStore(str(path), 3)
    second.set("a", "b")
    del second
    assert path.exists() and first.get("a") == b"b"
    del first
    assert path.exists() == (world_size == -1)
    last = dist.FileStore(str(tmp_path / "other"), world_size)
    del last
    assert (tmp_path / "other").exists() == stays


def test_masters_share_a_port():
    first = dist.TCPStore("127.0.0.1", 0, 1, True, multi_tenant=True)
    second = dist.TCPStore("127.0.0.1", first.port, 1, True, multi_tenant=True)
    first.set("a", "b")
    assert second.get("a") == b"b"
    del first
    assert second.get("a") == b"b"
    with pytest.raises(RuntimeError, match="failed to listen"):
        dist.TCPStore("127.0.0.1", second.port, 1, True)


def test_bound_socket():
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    _, port = bound.getsockname()
    store = dist.TCPStore("127.0.0.1", port, 1, is_master=True, master_listen_fd=bound.detach())
    store.set("a", "b")
    assert store.get("a") == b"b"
