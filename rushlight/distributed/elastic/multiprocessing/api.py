"""What of a worker's output goes where (torch.distributed.elastic.multiprocessing.api)."""

from __future__ import annotations

import signal
from enum import IntFlag

__all__ = ["DefaultLogsSpecs", "LogsSpecs", "SignalException", "Std"]


class SignalException(Exception):
    """A launcher was ended by a signal; `sigval` is which."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """A process's streams."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """ "3", or "0:3,1:2" for single local ranks. ValueError for others."""
        if vm.isdigit():
            return cls(int(vm))
        try:
            pairs = (pair.split(":") for pair in vm.split(","))
            return {int(rank): cls(int(value)) for rank, value in pairs}
        except ValueError:
            raise ValueError(
                f"{vm} does not match: <\\\\d> or <\\\\d:[0123],...>: a number, or pairs LOCAL_RANK:NUMBER"
            ) from None


class LogsSpecs:
    """Where workers' logs go.

    log_dir: their folder; None: no files. redirects: streams that go to files instead of the console; tee:
    to both.
    Either a Std for all workers, or a dict of them by local rank.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = local_ranks_filter

    @property
    def root_log_dir(self) -> str | None:
        """The folder."""
        return self._root_log_dir


class DefaultLogsSpecs(LogsSpecs):
    """LogsSpecs as they are."""
