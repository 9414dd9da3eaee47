"""A rendezvous' state in a store of torch.distributed."""

from __future__ import annotations

import binascii
import tempfile
from base64 import b64decode, b64encode
from datetime import timedelta
from typing import Any

from rushlight.distributed.elastic.events import NodeState, construct_and_record_rdzv_event
from rushlight.distributed.elastic.rendezvous.api import (
    RendezvousConnectionError,
    RendezvousError,
    RendezvousParameters,
    RendezvousStateError,
)
from rushlight.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousBackend, Token
from rushlight.distributed.elastic.rendezvous.utils import (
    _matches_machine_hostname,
    parse_rendezvous_endpoint,
)
from rushlight.distributed.stores import FileStore, Store, TCPStore

__all__ = ["C10dRendezvousBackend", "create_backend"]
DEFAULT_PORT = 29400
_NOTHING = "Y2FuaW1hZGFt"  # stands for a state that there is not yet
_UNREACHABLE = "The connection to the C10d store has failed. See inner exception for details."


class C10dRendezvousBackend(RendezvousBackend):
    """A state under one key of a store, in base64; it is its own token."""

    def __init__(self, store: Store, run_id: str) -> None:
        if not run_id:
            raise ValueError("The run id must be a non-empty string.")
        self._store, self._key = store, f"torch.rendezvous.{run_id}"
        self._call_store("compare_set", self._key, "", _NOTHING)

    @property
    def name(self) -> str:
        """Its name."""
        return "c10d"

    def get_state(self) -> tuple[bytes, Token] | None:
        """The state and its token; None where there is none."""
        return self._decoded(self._call_store("get", self._key))

    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        """Replace the state that has this token, or none; the state then, its token, whether it is ours."""
        if token and not isinstance(token, bytes):
            found = self.get_state()
            return None if found is None else (*found, False)
        expected = token.decode() if token else _NOTHING
        held = self._call_store("compare_set", self._key, expected, b64encode(state).decode())
        found = self._decoded(held)
        return None if found is None else (*found, found[0] == state)

    def _call_store(self, name: str, *args: Any) -> Any:
        try:
            return getattr(self._store, name)(*args)
        except (ValueError, RuntimeError, TimeoutError) as error:
            raise RendezvousConnectionError(_UNREACHABLE) from error

    @staticmethod
    def _decoded(held: bytes) -> tuple[bytes, Token] | None:
        if held == _NOTHING.encode():
            return None
        try:
            return b64decode(held), held
        except binascii.Error as error:
            raise RendezvousStateError(
                "The state object is corrupt. See inner exception for details."
            ) from error


def _tcp_store(params: RendezvousParameters) -> TCPStore:
    """The store at the endpoint, which this process keeps if the endpoint is here and nobody else does."""
    host, port = parse_rendezvous_endpoint(params.endpoint, default_port=DEFAULT_PORT)
    told = params.get_as_bool("is_host")
    here = _matches_machine_hostname(host) if told is None else told
    seconds = params.get_as_int("read_timeout", 60) or 0
    if seconds <= 0:
        raise ValueError("The read timeout must be a positive integer.")
    timeout = timedelta(seconds=seconds)
    if here:
        try:
            store = TCPStore(host, port, is_master=True, multi_tenant=True, timeout=timeout)
            construct_and_record_rdzv_event(
                run_id=params.run_id,
                message="This process hosts the TCP store for the C10d rendezvous backend.",
                node_state=NodeState.INIT,
            )
            return store
        except (ValueError, RuntimeError, TimeoutError) as error:
            if told is not None:
                raise RendezvousConnectionError(_UNREACHABLE) from error
    try:
        return TCPStore(host, port, is_master=False, multi_tenant=True, timeout=timeout)
    except (ValueError, RuntimeError, TimeoutError) as error:
        raise RendezvousConnectionError(_UNREACHABLE) from error


def _file_store(params: RendezvousParameters) -> FileStore:
    """The store in the file that the endpoint names, or in a new temporary one."""
    try:
        path = params.endpoint or tempfile.mkstemp()[1]
    except OSError as error:
        raise RendezvousError(
            "The file creation for C10d store has failed. See inner exception for details."
        ) from error
    try:
        return FileStore(path)
    except (ValueError, RuntimeError) as error:
        raise RendezvousConnectionError(_UNREACHABLE) from error


def create_backend(params: RendezvousParameters) -> tuple[C10dRendezvousBackend, Store]:
    """The backend and its store. Options: store_type "tcp" or "file", read_timeout (60 s), is_host."""
    kind = params.get("store_type", "tcp").strip().lower()
    try:
        if kind not in ("file", "tcp"):
            raise ValueError("Invalid store type given. Currently only supports file and tcp.")
        store: Store = _file_store(params) if kind == "file" else _tcp_store(params)
        return C10dRendezvousBackend(store, params.run_id), store
    except Exception as error:
        construct_and_record_rdzv_event(
            message=f"{type(error).__name__}: {error}", run_id=params.run_id, node_state=NodeState.FAILED
        )
        raise
