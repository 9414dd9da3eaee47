"""What a worker does: seed itself, then answer each list of indices with a batch."""

from __future__ import annotations

import itertools
import random
import threading
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.numerics.rng import use_in_thread
from rushlight.utils.data.fetch import IterableFetcher, MapFetcher, Recipe, rows


@dataclass(frozen=True, slots=True)
class RNG:
    """The generators of a worker thread, which has no use for those of the whole process.

    random_generator draws what `random` would in a worker process, numpy_generator what `numpy.random`
    would; torch_generator is also what the thread's torch functions draw from.
    """

    random_generator: random.Random
    torch_generator: Any
    numpy_generator: Any = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Who the current worker is: its number of how many, its seed, and its dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: RNG | None = None
    worker_method: str | None = "multiprocessing"


class _Current(threading.local):
    """The worker that a thread is; threads that a worker process starts are that worker too."""

    of_thread: WorkerInfo | None = None
    of_process: WorkerInfo | None = None


_current = _Current()


def get_worker_info() -> WorkerInfo | None:
    """In a DataLoader's worker its WorkerInfo, elsewhere None."""
    return _current.of_thread or _Current.of_process


@dataclass(frozen=True)
class Job:
    """What all workers of a loader are told."""

    recipe: Recipe
    base_seed: int
    init_fn: Any
    count: int


class Failure:
    """An exception on its way to the main process, with the traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.type, self.where = type(error), where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self) -> None:
        """Raise it here: the same type where it can be made of a message, else RuntimeError."""
        message: Any = f"Caught {self.type.__name__} {self.where}.\nOriginal {self.text}"
        if self.type is KeyError:
            message = _Verbatim(message)
        elif getattr(self.type, "message", None):
            kind: Any = self.type
            raise kind(message=message)
        try:
            error = self.type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Verbatim(str):
    """A text that KeyError, which shows its argument's repr, shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """What numpy.random is seeded with: of a worker, 128 bits that are like no other worker's."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(n) for n in np.random.SeedSequence(entropy).generate_state(4)]


class Worker:
    """One worker's pass through its tasks. `method`: "multiprocessing" or "thread"."""

    def __init__(self, job: Job, number: int, method: str = "multiprocessing") -> None:
        self._job, self._where = job, f"in DataLoader worker {'process' if method != 'thread' else 'thread'}"
        self._where += f" {number}"
        self._failure: Failure | None = None
        self._fetcher: MapFetcher | IterableFetcher | None = None
        self._ended = False
        seed, rng = job.base_seed + number, None
        if method == "thread":
            rng = _seeded_thread(job.base_seed, number)
        else:
            random.seed(seed)
            torch.manual_seed(seed)
            np.random.seed(_generate_state(job.base_seed, number))
        info = WorkerInfo(number, job.count, seed, job.recipe.dataset, rng, method)
        if method == "thread":
            _current.of_thread = info
        else:
            _Current.of_process = info
        try:
            if job.init_fn is not None:
                job.init_fn(number)
            self._fetcher = job.recipe.fetcher()
        except Exception as error:
            self._failure = self.failed(error)

    def failed(self, error: BaseException) -> Failure:
        """An exception as it is told to the main process."""
        return Failure(error, self._where)

    def again(self) -> None:
        """Begin another pass over the dataset."""
        self._ended = False
        try:
            self._fetcher = self._job.recipe.fetcher()
        except Exception as error:
            self._failure = self.failed(error)

    def rows(self, indices: list[Any]) -> tuple[Any, list[int]] | None:
        """Several batches of rows of tensors in one, and their lengths; None for others, and errors."""
        sound = self._failure is None and self._fetcher is not None
        found = rows(self._job.recipe, list(itertools.chain(*indices))) if sound else None
        return None if found is None else (found, list(map(len, indices)))

    def answer(self, index: Any) -> tuple[str, Any] | None:
        """("data", batch), ("error", Failure), ("end", None) once at the end, then None."""
        if self._ended:
            return None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            return "error", failure
        if self._fetcher is None:
            return "error", self.failed(
                RuntimeError("the worker could not be set up; its first error says why")
            )
        try:
            return "data", self._fetcher.fetch(index)
        except StopIteration as error:
            if self._job.recipe.iterable:
                self._ended = True
                return "end", None
            return "error", self.failed(error)
        except Exception as error:
            return "error", self.failed(error)


def _seeded_thread(base_seed: int, number: int) -> RNG:
    """Generators for this thread; its torch functions draw from the one among them."""
    generator = torch.Generator()
    generator.manual_seed(base_seed + number)
    use_in_thread(generator.engine)
    return RNG(
        random.Random(base_seed + number),
        generator,
        np.random.RandomState(_generate_state(base_seed, number)),
    )
