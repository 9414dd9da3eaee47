"""Copies of state dicts, which are written while the training goes on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import rushlight as torch
from rushlight._engine.core.pytree import tree_map

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """Who makes the copy."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether async_save() waits for the copy."""
        return self._synchronize_after_execute

    def stage(self, state_dict: dict[str, Any]) -> Any:
        """The copy, or a future of it."""
        raise NotImplementedError(f"{type(self).__name__} must implement stage method")

    def synchronize_staging(self) -> None:
        """Wait for the copy."""

    def close(self) -> None:
        """No more copies."""


@dataclass
class StagingOptions:
    """How a copy is made: into page-locked or shared memory, by a thread, without waiting for devices."""

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


def _copied(state_dict: Any) -> Any:
    """With tensors of the CPU's, of this rank's parts."""

    def copied(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = value.detach()
        return value.clone() if value.device.type == "cpu" else value.cpu()

    return tree_map(copied, state_dict)


class DefaultStager(AsyncStager):
    """Copies into the CPU's memory; with use_async_staging a thread does."""

    def __init__(self, config: StagingOptions | None = None) -> None:
        self._config = StagingOptions() if config is None else config
        if self._config.use_non_blocking_copy and not torch.accelerator.is_available():
            raise AssertionError("Non-blocking copy requires that the current accelerator is available.")
        self._staging_executor = ThreadPoolExecutor(1) if self._config.use_async_staging else None
        self._staging_future: Future[Any] | None = None

    def stage(self, state_dict: dict[str, Any], **kwargs: Any) -> Any:
        """The copy, or a future of it."""
        if self._staging_executor is None:
            return _copied(state_dict)
        self._staging_future = self._staging_executor.submit(_copied, state_dict)
        return self._staging_future

    def synchronize_staging(self) -> None:
        """Wait for the copy."""
        if self._staging_future is not None:
            self._staging_future.result()

    def close(self) -> None:
        """No more copies."""
        if self._staging_executor is not None:
            self._staging_executor.shutdown(wait=True)


class BlockingAsyncStager(AsyncStager):
    """Copies into the CPU's memory; cache_staged_state_dict: the same memory each time."""

    _synchronize_after_execute: bool = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict, self.type_check = cache_staged_state_dict, type_check
        self.state_dict_cache: Any = None

    def stage(self, state_dict: dict[str, Any]) -> Any:
        """The copy."""
        if not self.cache_staged_state_dict:
            return _copied(state_dict)
        if self.state_dict_cache is None:
            self.state_dict_cache = _copied(state_dict)
            return self.state_dict_cache
        self.state_dict_cache = tree_map(_refilled, state_dict, self.state_dict_cache)
        return self.state_dict_cache


def _refilled(value: Any, kept: Any) -> Any:
    """The tensor that was kept, with another one's values; other values as they are."""
    return kept.copy_(value.detach()) if isinstance(value, torch.Tensor) else value
