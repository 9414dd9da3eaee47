"""The state of a rendezvous in a store: who has seen the newest may replace it."""

import pytest

import rushlight.distributed as dist
from rushlight.distributed.elastic.rendezvous import (
    RendezvousConnectionError,
    RendezvousParameters,
    RendezvousStateError,
)
from rushlight.distributed.elastic.rendezvous.c10d_rendezvous_backend import (
    C10dRendezvousBackend,
    create_backend,
)


def test_states_and_tokens():
    store = dist.HashStore()
    backend = C10dRendezvousBackend(store, "run")
    assert backend.name == "c10d" and backend.get_state() is None
    state, first, done = backend.set_state(b"x")
    assert (state, done) == (b"x", True) and backend.get_state() == (b"x", first)
    state, second, done = backend.set_state(b"y", first)
    assert (state, done) == (b"y", True) and second != first
    for token in (first, None, "wrong"):
        assert backend.set_state(b"z", token) == (b"y", second, False)
    store.set("torch.rendezvous.run", "non_base64")
    with pytest.raises(RendezvousStateError, match="corrupt"):
        backend.get_state()
    with pytest.raises(ValueError, match="non-empty"):
        C10dRendezvousBackend(store, "")


def made(endpoint, **options):
    return create_backend(RendezvousParameters("c10d", endpoint, "run", 1, 1, **options))


def test_stores(tmp_path):
    backend, store = made("127.0.0.1:0", read_timeout="5")
    assert isinstance(store, dist.TCPStore) and backend.set_state(b"x")[2]
    backend, store = made(str(tmp_path / "file"), store_type="file")
    assert isinstance(store, dist.FileStore) and store.path == str(tmp_path / "file")
    with pytest.raises(ValueError, match="store type"):
        made("127.0.0.1:0", store_type="other")
    with pytest.raises(ValueError, match="positive"):
        made("127.0.0.1:0", read_timeout="0")
    with pytest.raises(RendezvousConnectionError):
        made("127.0.0.1:1", is_host="false", read_timeout="1")
