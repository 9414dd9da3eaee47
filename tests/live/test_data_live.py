"""Loaders with workers beside PyTorch's: the same batches, the same random numbers, the same complaints."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


class Sets:
    """Datasets made with one of the packages."""

    def __init__(self, package: Any) -> None:
        data = package.utils.data

        class Noise(data.Dataset):
            def __len__(self) -> int:
                return 23

            def __getitem__(self, i: int) -> Any:
                if i == 100:
                    raise KeyError("bad")
                return (
                    i,
                    package.rand(2),
                    random.random(),
                    np.random.rand(),
                    {"normal": package.randn(1)},
                    package.initial_seed(),
                )

        class Stream(data.IterableDataset):
            def __init__(self, shared: bool) -> None:
                self.shared = shared

            def __iter__(self) -> Any:
                info = data.get_worker_info()
                start, step = (info.id, info.num_workers) if self.shared and info else (0, 1)
                n = 17 + 5 * info.id if info else 17
                return ((i, package.rand(1), info.seed if info else 0) for i in range(start, n, step))

            def __len__(self) -> int:
                return 17

        def init(worker: int) -> None:
            package.rand(worker + 1)
            np.random.rand(2)

        self.noise, self.shared, self.whole, self.init = Noise(), Stream(True), Stream(False), init
        self.rows = data.TensorDataset(package.arange(46.0).reshape(23, 2), package.arange(23))
        self.generator = package.Generator().manual_seed(7)
        self.random = data.RandomSampler(self.noise, True, 33, self.generator)


OPTIONS = [
    "s.noise, 4",
    "s.noise, 4, shuffle=True",
    "s.noise, 4, shuffle=True, generator=s.generator",
    "s.rows, 3, shuffle=True",
    "s.rows, 3, shuffle=True, generator=s.generator",
    "s.noise, 5, sampler=s.random",
    "s.noise, None",
    "s.noise, None, shuffle=True",
    "s.noise, 4, worker_init_fn=s.init",
    "s.noise, 4, drop_last=True, prefetch_factor=1",
    "s.shared, 3",
    "s.whole, 3",
    "s.whole, None",
    "s.shared, 4, drop_last=True",
    "s.noise, 4, persistent_workers=True",
    "s.whole, 3, persistent_workers=True",
    "s.noise, 4, shuffle=True, persistent_workers=True, generator=s.generator",
]


def epochs(package: Any, options: str, workers: int) -> Any:
    package.manual_seed(11)
    s = Sets(package)
    loader = eval(f"package.utils.data.DataLoader({options}, num_workers=workers)", {**locals()})
    found = [plain(list(loader))]
    for k, _ in enumerate(loader):
        if k == 1:
            break
    found += [plain(list(loader)), plain(package.rand(2)), plain(package.rand(2, generator=s.generator))]
    if loader._iterator is not None:
        loader._iterator = None
    return found


@pytest.mark.filterwarnings("ignore:Length of IterableDataset")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", OPTIONS)
def test_same_batches_and_same_draws(options: str, workers: int) -> None:
    assert epochs(rushlight, options, workers) == epochs(torch, options, workers)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_same_complaints() -> None:
    def told(package: Any) -> Any:
        data, found = package.utils.data, []
        s = Sets(package)
        cases = [
            lambda: data.DataLoader(s.rows, num_workers=64),
            lambda: data.DataLoader(s.rows, num_workers=-1),
            lambda: data.DataLoader(s.rows, num_workers=1, multiprocessing_context="x"),
            lambda: data.DataLoader(s.rows, num_workers=1, multiprocessing_context=3),
            lambda: data.DataLoader(s.rows, num_workers=1, prefetch_factor=-2),
            lambda: iter(data.DataLoader(s.rows, num_workers=1, prefetch_factor=0)),
            lambda: list(data.DataLoader(s.rows, pin_memory=True, pin_memory_device="cuda")),
            lambda: data.DataLoader(s.rows, num_workers=1).prefetch_factor,
            lambda: iter(data.DataLoader(s.rows)).__getstate__(),
            lambda: list(data.DataLoader(s.rows, num_workers=1, timeout=-1)),
        ]
        for case in cases:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                try:
                    value: Any = plain(case())
                except Exception as error:
                    value = [type(error).__name__, *map(str, error.args)]
                found.append(
                    [value if isinstance(value, (int, list)) else None, *[str(w.message) for w in seen]]
                )
        return found

    assert told(rushlight) == told(torch)


@pytest.mark.parametrize("index", ["s.noise, 2, sampler=[1, 2, 100]", "s.rows, 2, sampler=[1, 2, 50]"])
def test_same_exceptions(index: str) -> None:
    found = []
    for package in (rushlight, torch):
        s = Sets(package)
        with pytest.raises((KeyError, IndexError)) as caught:
            list(eval(f"package.utils.data.DataLoader({index}, num_workers=1)", {"s": s, "package": package}))
        lines = str(caught.value).splitlines()
        found.append([caught.type, lines[0], lines[1], lines[-1].split(":")[0]])
    assert found[0] == found[1]


def test_same_worker_info() -> None:
    found = []
    for package in (rushlight, torch):
        package.manual_seed(3)

        def report(items: Any, package: Any = package) -> Any:
            info = package.utils.data.get_worker_info()
            return (
                info.id,
                info.num_workers,
                info.seed,
                package.get_num_threads(),
                info.worker_method,
                str(info.rng),
            )

        found.append(list(package.utils.data.DataLoader(range(4), 1, num_workers=2, collate_fn=report)))
        assert package.utils.data.get_worker_info() is None
    assert found[0] == found[1]


def test_collaters_of_a_program() -> None:
    found = []
    for package in (rushlight, torch):
        functions = package.utils.data._utils.collate

        def joined(batch: Any, *, collate_fn_map: Any = None) -> str:
            return "+".join(map(str, batch))

        chosen = {set: joined, **functions.default_collate_fn_map}
        found.append(
            plain(
                functions.collate(
                    [{"a": {1}, "b": (1, 2.5)}, {"a": {2}, "b": (3, 4.5)}], collate_fn_map=chosen
                )
            )
        )
        with pytest.raises(TypeError, match="found <class 'set'>"):
            functions.default_collate([{1}, {2}])
        functions.default_collate_fn_map[set] = joined
        found[-1] = found[-1], package.utils.data.default_collate([{1}, {2}])
        del functions.default_collate_fn_map[set]
    assert found[0] == found[1]


@pytest.mark.parametrize("batch_size", [1, 4, 7, 30])
@pytest.mark.parametrize(
    "options", [{}, {"persistent_workers": True}, {"prefetch_factor": 3}, {"drop_last": True}]
)
def test_generators_behind_grouped_batches(batch_size: int, options: dict[str, Any]) -> None:
    """Small batches of rows travel in groups: the sampler's generator is where PyTorch's is after each."""

    def run(package: Any) -> list[Any]:
        generator, found = package.Generator().manual_seed(5), []
        rows = package.utils.data.TensorDataset(package.arange(60.0).reshape(30, 2))
        loader = package.utils.data.DataLoader(
            rows, batch_size, shuffle=True, num_workers=2, worker_init_fn=int, generator=generator, **options
        )
        for _ in range(2):
            found += [(batch.tolist(), generator.get_state().tolist()) for (batch,) in loader]
            found.append(generator.get_state().tolist())
        return found

    assert run(rushlight) == run(torch)
