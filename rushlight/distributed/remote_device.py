"""A device of some worker, as text says it."""

from __future__ import annotations

from typing import Any

import rushlight as torch


class _remote_device:
    """ "trainer0/cuda:0", "rank:0/cuda:0", "trainer0" (its CPU), or "cuda:0", a device here."""

    def __init__(self, remote_device: Any) -> None:
        wrong = ValueError(
            f"Could not parse remote_device: {remote_device}. The valid format is "
            "'<workername>/<device>' or 'rank:<rank>/<device>' or '<device>'"
        )
        worker: str | None = None
        if isinstance(remote_device, torch.device):
            device: Any = remote_device
        elif not isinstance(remote_device, str):
            raise TypeError(f"Invalid type for remote_device: {type(remote_device)}")
        elif remote_device.count("/") > 1:
            raise wrong
        elif "/" in remote_device:
            worker, device = remote_device.split("/")
        else:
            here = self._is_valid_local_device(remote_device)
            worker, device = (None, remote_device) if here else (remote_device, "cpu")
        if worker is not None and not worker:
            raise wrong
        self._device, self._worker_name = torch.device(device), worker
        self._rank: int | None = None
        if worker is not None and ":" in worker:
            kind, _, number = worker.partition(":")
            if kind != "rank" or not number.isdigit():
                raise wrong
            self._rank = int(number)
            self._worker_name = None

    @staticmethod
    def _is_valid_local_device(device: Any) -> bool:
        try:
            torch.device(device)
        except Exception:
            return False
        return True

    def worker_name(self) -> str | None:
        """The worker's name, where it is said."""
        return self._worker_name

    def rank(self) -> int | None:
        """The worker's number, where it is said."""
        return self._rank

    def device(self) -> Any:
        """The device there."""
        return self._device

    def __repr__(self) -> str:
        if self._worker_name is not None:
            return f"{self._worker_name}/{self._device}"
        return str(self._device) if self._rank is None else f"rank:{self._rank}/{self._device}"

    def _key(self) -> tuple[Any, ...]:
        return self._worker_name, self._rank, self._device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _remote_device) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())
