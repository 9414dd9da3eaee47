"""What agents do with a store: data of all, and a barrier (torch.distributed.elastic.utils.store)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rushlight.distributed.errors import DistStoreError

__all__ = ["barrier", "get_all", "store_timeout", "synchronize"]
_SAID = "<val_ignored>"
_MOST_NAMED = 16  # missing ranks


@contextmanager
def store_timeout(store: Any, timeout: float) -> Iterator[None]:
    """Another timeout of a store, in seconds, for a block."""
    before = store.timeout
    store.set_timeout(timedelta(seconds=timeout))
    yield
    store.set_timeout(before)


def _arrive(store: Any, world_size: int, prefix: str) -> str:
    """Count this caller; the key that the last one sets."""
    last = f"{prefix}/last_member"
    if store.add(f"{prefix}/num_members", 1) == world_size:
        store.set(last, _SAID)
    return last


def get_all(store: Any, rank: int, prefix: str, world_size: int) -> list[bytes]:
    """The values of prefix0, prefix1, ...; rank 0 waits until all have them."""
    found: list[bytes] = store.multi_get([f"{prefix}{i}" for i in range(world_size)])
    last = _arrive(store, world_size, f"{prefix}/finished")
    if rank == 0:
        store.wait([last])
    return found


def synchronize(
    store: Any, data: bytes, rank: int, world_size: int, key_prefix: str, timeout: float = 300
) -> list[bytes]:
    """What all ranks give, on all of them."""
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def barrier(
    store: Any,
    world_size: int,
    key_prefix: str,
    barrier_timeout: float = 300,
    rank: int | None = None,
    rank_tracing_decoder: Callable[[int], str] | None = None,
    trace_timeout: float = 10,
) -> None:
    """Wait until all have come, once for each prefix. With a rank, a timeout names who has not."""
    if rank is None and rank_tracing_decoder is not None:
        raise AssertionError("Tracing requires rank information")
    with store_timeout(store, barrier_timeout):
        last = _arrive(store, world_size, key_prefix)
        try:
            store.wait([last])
        except DistStoreError:
            named = None
            if rank is not None:
                named = _missing(
                    store, world_size, key_prefix, rank, rank_tracing_decoder or str, trace_timeout
                )
            if named is None:
                raise
            raise DistStoreError(
                f"Timed out waiting on barrier on rank {rank}, for key prefix: {key_prefix} "
                f"(world_size={world_size}, missing_ranks=[{', '.join(named)}], timeout={barrier_timeout})"
            ) from None


def _missing(
    store: Any, world_size: int, prefix: str, rank: int, shown: Callable[[int], str], timeout: float
) -> list[str] | None:
    """Who has not come, as rank 0 finds out; the others say where to look, or None where it has not."""
    store.set(f"{prefix}{rank}/TRACE", _SAID)
    gate = f"{prefix}/TRACING_GATE"
    if rank != 0:
        try:
            store.wait([gate])
        except DistStoreError:
            return None
        return [f"[<check rank 0 ({shown(0)}) for missing rank info>]"]
    named: list[str] = []
    for other in range(1, world_size):
        if len(named) >= _MOST_NAMED:
            break
        patience = timedelta(milliseconds=1) if named else timedelta(seconds=timeout)
        try:
            store.wait([f"{prefix}{other}/TRACE"], patience)
        except DistStoreError:
            named.append(shown(other))
    store.set(gate, _SAID)
    return named
