"""What torch.utils.data does, as functions of the package; PyTorch's answers: data_behaviours.json."""

from __future__ import annotations

import collections
import random
import warnings
from typing import Any

import numpy as np
from answers import Table, attempt, attempts

DATA = Table("data_behaviours.json")
Point = collections.namedtuple("Point", ["x", "y"])


def numbers(torch: Any, n: int = 10) -> Any:
    """A map-style dataset of ints and their halves."""

    class Numbers(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return n

        def __getitem__(self, i: int) -> Any:
            return i, i / 2

    return Numbers()


def stream(torch: Any, n: int = 10, sized: bool = False) -> Any:
    """An iterable dataset of ints."""

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            return iter(range(n))

    if sized:
        Stream.__len__ = lambda self: n  # type: ignore[attr-defined]
    return Stream()


def names(torch: Any) -> dict[str, Any]:
    """What the expressions below mention."""
    data = torch.utils.data
    t = torch.arange(20.0).reshape(10, 2)
    found = {
        n: getattr(data, n)
        for n in (
            "DataLoader",
            "Dataset",
            "IterableDataset",
            "TensorDataset",
            "ConcatDataset",
            "ChainDataset",
            "StackDataset",
            "Subset",
            "random_split",
            "Sampler",
            "SequentialSampler",
            "RandomSampler",
            "SubsetRandomSampler",
            "WeightedRandomSampler",
            "BatchSampler",
            "default_collate",
            "default_convert",
            "get_worker_info",
            "DistributedSampler",
        )
    }
    return {
        **found,
        "torch": torch,
        "np": np,
        "T": torch.tensor,
        "t": t,
        "Point": Point,
        "OD": collections.OrderedDict,
        "DD": collections.defaultdict,
        "ten": numbers(torch),
        "td": data.TensorDataset(t, torch.arange(10)),
        "three": numbers(torch, 3),
        "stream": stream(torch),
        "sized": stream(torch, 10, True),
        "short": stream(torch, 3, True),
        "G": lambda seed: torch.Generator().manual_seed(seed),
        "count": collections.Counter,
        "seed": lambda s, v: (torch.manual_seed(s), v())[1],
        "drop": lambda batch: len(batch),
    }


@DATA
def datasets(torch: Any) -> Any:
    return attempts(
        """
        len(td)
        td[3]
        td[-1]
        td[2:4]
        td[T([1, 5])]
        td[10]
        td.tensors[1]
        TensorDataset(t, t[:3])
        TensorDataset()
        TensorDataset(t, T(3.))
        Dataset()[0]
        len(Dataset())
        iter(IterableDataset())
        len(IterableDataset())
        len(ten + three)
        (ten + three)[11]
        (ten + three)[-1]
        (ten + three)[-14]
        (ten + three)[13]
        ConcatDataset([])
        ConcatDataset([ten, stream])
        ConcatDataset([ten, td, three]).cumulative_sizes
        ConcatDataset([ten, three]).datasets[1] is three
        list(stream + stream)[8:12]
        len(sized + sized)
        len(sized + stream)
        list(ChainDataset([short, short]))
        list(ChainDataset([short, three]))
        StackDataset(ten, td)[2]
        StackDataset(a=ten, b=td)[2]
        len(StackDataset(ten))
        StackDataset(ten, three)
        StackDataset()
        StackDataset(ten, b=ten)
        StackDataset(ten, td).__getitems__([1, 2])
        Subset(ten, [3, 1, 7])[1]
        Subset(ten, [3, 1, 7])[[0, 2]]
        Subset(td, [3, 1, 7])[[0, 2]]
        Subset(ten, [3, 1, 7]).__getitems__([0, 2])
        len(Subset(ten, range(0, 10, 3)))
        Subset(ten, [3])[5]
        Subset(Subset(ten, [5, 6, 7]), [2, 0])[0]
    """,
        names(torch),
    )


@DATA
def splits(torch: Any) -> Any:
    return attempts(
        """
        [list(s.indices) for s in random_split(ten, [7, 3], G(1))]
        [list(s.indices) for s in random_split(range(10), [0.5, 0.25, 0.25], generator=G(2))]
        [list(s.indices) for s in random_split(range(11), [0.5, 0.5], generator=G(2))]
        [list(s.indices) for s in seed(5, lambda: random_split(ten, [4, 6]))]
        [len(s) for s in random_split(range(7), [1/3, 1/3, 1/3])]
        [len(s) for s in random_split(range(7), [1.0])]
        [len(s) for s in random_split(range(9), [0.1, 0.2], generator=G(0))]
        [len(s) for s in random_split(range(3), [0, 3])]
        random_split(ten, [7, 4])
        random_split(ten, [7])
        random_split(ten, [0.7, 0.7])
        random_split(ten, [1.2, -0.2])
        random_split(ten, [0.5, 0.5])[0].dataset is ten
        random_split(ten, [0.5, 0.5], generator=G(3))[1][2]
        random_split(stream, [0.5, 0.5])
        torch.initial_seed()
    """,
        names(torch),
    )


@DATA
def empty_splits_warn(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parts = torch.utils.data.random_split(range(2), [0.5, 0.49, 0.01])
    return [[str(w.message) for w in caught], [len(p) for p in parts]]


@DATA
def samplers(torch: Any) -> Any:
    return attempts(
        """
        list(SequentialSampler(ten))
        len(SequentialSampler(ten))
        list(RandomSampler(ten, generator=G(0)))
        list(RandomSampler(range(50), generator=G(7)))
        list(RandomSampler(ten, replacement=True, generator=G(1)))
        list(RandomSampler(ten, replacement=True, num_samples=40, generator=G(1)))
        list(RandomSampler(ten, num_samples=4, generator=G(1)))
        list(RandomSampler(ten, num_samples=23, generator=G(1)))
        len(RandomSampler(ten, num_samples=23))
        len(RandomSampler(ten))
        seed(3, lambda: list(RandomSampler(ten)))
        seed(3, lambda: [list(RandomSampler(ten)), torch.rand(2)])
        seed(3, lambda: [list(RandomSampler(ten, True)), torch.rand(2)])
        list(RandomSampler(ten, True, 70, G(4)))
        list(SubsetRandomSampler([5, 2, 8, 1], generator=G(2)))
        len(SubsetRandomSampler([5, 2]))
        seed(3, lambda: list(SubsetRandomSampler(range(20, 30))))
        list(WeightedRandomSampler([0.1, 0.9, 0.0, 3.0], 12, generator=G(5)))
        list(WeightedRandomSampler([0.1, 0.9, 0.2, 3.0], 3, replacement=False, generator=G(5)))
        list(WeightedRandomSampler(T([1, 2, 3]), 8, generator=G(6)))
        WeightedRandomSampler([1.0, 2.0], 5).weights
        list(WeightedRandomSampler([1.0, 0.0], 2, replacement=False, generator=G(0)))
        list(BatchSampler(SequentialSampler(range(10)), 3, False))
        list(BatchSampler(SequentialSampler(range(10)), 3, True))
        list(BatchSampler(range(4), 4, True))
        list(BatchSampler('abcde', 2, False))
        list(BatchSampler([], 2, False))
        len(BatchSampler(range(10), 3, False))
        len(BatchSampler(range(10), 3, True))
        list(BatchSampler(RandomSampler(ten, generator=G(9)), 4, drop_last=False))
        list(DistributedSampler(ten, 3, 1, shuffle=False))
        list(DistributedSampler(ten, 3, 0))
        list(DistributedSampler(ten, 4, 3, seed=5, drop_last=True))
        len(DistributedSampler(ten, 4, 3, drop_last=True))
        DistributedSampler(ten, 2, 2)
        DistributedSampler(ten, 2, -1)
        RandomSampler(ten, replacement=3)
        RandomSampler(ten, num_samples=0)
        RandomSampler(ten, num_samples=-1)
        RandomSampler(ten, num_samples=2.5)
        RandomSampler([])
        list(RandomSampler([]))
        RandomSampler(stream)
        WeightedRandomSampler([1.0], 0)
        WeightedRandomSampler([1.0], True)
        WeightedRandomSampler([1.0], 2, replacement=1)
        WeightedRandomSampler([[1.0], [2.0]], 2)
        list(WeightedRandomSampler([1.0], 2, replacement=False))
        list(WeightedRandomSampler([-1.0, 2.0], 2))
        list(WeightedRandomSampler([0.0, 0.0], 2))
        BatchSampler(range(3), 0, False)
        BatchSampler(range(3), 1.5, False)
        BatchSampler(range(3), True, False)
        BatchSampler(range(3), 2, 1)
        BatchSampler(range(3), 2)
        iter(Sampler())
        len(Sampler())
    """,
        names(torch),
    )


@DATA
def collating(torch: Any) -> Any:
    found = attempts(
        """
        default_collate([0, 1, 2])
        default_collate([True, False])
        default_collate([0.5, 1.5])
        default_collate([1, 2.5])
        default_collate(['a', 'bb'])
        default_collate([b'a', b'b'])
        default_collate([T([1., 2.]), T([3., 4.])])
        default_collate([T(1), T(2)])
        default_collate([T([1.]), T([3., 4.])])
        default_collate((T([1.]), T([2.])))
        default_collate([np.arange(3), np.arange(3) + 1])
        default_collate([np.float32(1), np.float32(2)])
        default_collate([np.int16(1), np.int16(2)])
        default_collate([np.array(1.5), np.array(2.5)])
        default_collate([np.bool_(True), np.bool_(False)])
        default_collate([np.array(['a']), np.array(['b'])])
        default_collate([np.array([None]), np.array([None])])
        default_collate([np.arange(3), np.arange(2)])
        default_collate([{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}])
        default_collate([OD(a=1, b=2.0), OD(a=3, b=4.0)])
        default_collate([count('aab'), count('ab')])
        default_collate([DD(int, a=1), DD(int, a=3)]).default_factory
        default_collate([{'a': 1}, {'b': 2}])
        default_collate([{'a': {'b': [1, (2, 3.0)]}}, {'a': {'b': [4, (5, 6.0)]}}])
        default_collate([Point(0, 0.0), Point(1, 2.0)])
        default_collate([Point(0, {'k': T(1)}), Point(1, {'k': T(2)})])
        default_collate([(1, 'a'), (2, 'b')])
        default_collate([[1, 2], [3, 4]])
        default_collate([(1, 2), (3,)])
        default_collate([[1], [2, 3]])
        default_collate([[], []])
        default_collate([()])
        default_collate([range(2), range(2)])
        default_collate([None, None])
        default_collate([object()])
        default_collate([{1, 2}])
        default_collate([1j, 2j])
        default_collate([])
        default_collate([T([1, 2], dtype=torch.int8), T([3, 4], dtype=torch.int8)])
        default_collate([torch.ones(2, requires_grad=True), torch.ones(2)]).requires_grad
        default_convert(np.arange(2))
        default_convert(np.float32(2))
        default_convert([np.arange(2), 'a', 3])
        default_convert((np.arange(2), 1.5))
        default_convert({'a': np.zeros(1), 'b': [np.ones(1)]})
        default_convert(Point(np.zeros(1), 2))
        default_convert(np.array(['a']))
        default_convert('abc')
        default_convert(None)
        default_convert(T(1))
        default_convert(7)
        [default_collate([[1, 2.0], [3, 4.0]]), default_collate([(1, 2.0), (3, 4.0)])]
        type(default_collate([Point(0, 0.0), Point(1, 2.0)])).__name__
        type(default_collate([OD(a=1), OD(a=3)])).__name__
        type(default_collate([[1, 2], [3, 4]])).__name__
        type(default_collate([(1, 2), (3, 4)])).__name__
    """,
        names(torch),
    )
    return found


@DATA
def loaders(torch: Any) -> Any:
    return attempts(
        """
        list(DataLoader(ten))[:3]
        list(DataLoader(ten, 4))
        list(DataLoader(ten, 4, drop_last=True))
        [len(DataLoader(ten, 4)), len(DataLoader(ten, 4, drop_last=True)), len(DataLoader(ten))]
        seed(0, lambda: list(DataLoader(ten, 4, shuffle=True)))
        seed(0, lambda: list(DataLoader(td, 4, True)))
        seed(0, lambda: [list(DataLoader(td, 5, True))[0][1] for _ in range(3)])
        seed(0, lambda: [list(DataLoader(ten, 5)), torch.rand(2)])
        seed(0, lambda: [list(DataLoader(ten, 5, True)), torch.rand(2)])
        seed(0, lambda: [list(DataLoader(td, 5, True, generator=G(3))), torch.rand(2)])
        seed(0, lambda: [list(DataLoader(td, 5, generator=G(3))), torch.rand(2)])
        list(DataLoader(ten, 4, shuffle=True, generator=G(11)))
        list(DataLoader(td, 3, sampler=RandomSampler(td, True, 7, G(1))))
        list(DataLoader(td, 3, sampler=[9, 0, 0, 5]))
        list(DataLoader(td, batch_sampler=[[1, 2], [9], []]))
        list(DataLoader(ten, batch_sampler=BatchSampler(SubsetRandomSampler([4, 5, 6], G(2)), 2, False)))
        list(DataLoader(ten, batch_size=None))[:3]
        list(DataLoader(td, batch_size=None))[2]
        list(DataLoader(td, batch_size=None, sampler=[[1, 2], [3, 4]]))
        len(DataLoader(ten, batch_size=None))
        list(DataLoader([np.arange(2), 'a'], batch_size=None))
        list(DataLoader(ten, 4, collate_fn=drop))
        list(DataLoader(ten, None, collate_fn=lambda x: [x]))[:2]
        list(DataLoader(td, 4, collate_fn=lambda rows: [y for _, y in rows]))
        list(DataLoader([{'a': 1}, {'a': 2}], 2))
        list(DataLoader(['x', 'y', 'z'], 2))
        list(DataLoader(t, 4))[2]
        list(DataLoader(range(5), 2))
        list(DataLoader(Subset(td, [4, 2]), 2))
        list(DataLoader(td + td, 15))[1]
        list(DataLoader(stream, 4))
        list(DataLoader(stream, 4, drop_last=True))
        list(DataLoader(stream, None))
        list(DataLoader(stream, 5, collate_fn=sum))
        len(DataLoader(stream, 4))
        len(DataLoader(sized, 4))
        len(DataLoader(sized, 4, drop_last=True))
        len(DataLoader(sized, None))
        list(DataLoader(sized, 4))
        list(DataLoader([], 2))
        [DataLoader(ten, 2).batch_size, DataLoader(ten, 2).drop_last, DataLoader(ten, 2).num_workers]
        type(DataLoader(ten, shuffle=True).sampler).__name__
        type(DataLoader(ten).sampler).__name__
        type(DataLoader(ten, 3).batch_sampler).__name__
        DataLoader(ten, batch_sampler=[[1]]).batch_size
        DataLoader(ten, None).batch_sampler
        DataLoader(ten, 4, collate_fn=drop).collate_fn is drop
        DataLoader(ten).dataset is ten
        DataLoader(ten).generator
        [DataLoader(ten).pin_memory, DataLoader(ten).timeout, DataLoader(ten).prefetch_factor]
        [next(iter(DataLoader(ten, 2))) for _ in range(2)]
        len(iter(DataLoader(ten, 3)))
        get_worker_info()
    """,
        names(torch),
    )


@DATA
def mistakes(torch: Any) -> Any:
    return attempts(
        """
        DataLoader()
        DataLoader(ten, 0)
        DataLoader(ten, -1)
        DataLoader(ten, 2.5)
        DataLoader(ten, shuffle=True, sampler=[1])
        DataLoader(ten, 2, batch_sampler=[[1]])
        DataLoader(ten, shuffle=True, batch_sampler=[[1]])
        DataLoader(ten, sampler=[1], batch_sampler=[[1]])
        DataLoader(ten, drop_last=True, batch_sampler=[[1]])
        DataLoader(ten, None, drop_last=True)
        list(DataLoader(ten, None, shuffle=True, generator=G(0)))
        DataLoader(ten, num_workers=-1)
        DataLoader(ten, timeout=-1)
        DataLoader(ten, prefetch_factor=2)
        DataLoader(ten, persistent_workers=True)
        DataLoader(ten, multiprocessing_context='nowhere')
        DataLoader(ten, worker_init_fn=3).worker_init_fn
        DataLoader(stream, shuffle=True)
        DataLoader(stream, shuffle=False) is None
        DataLoader(stream, sampler=[1])
        DataLoader(stream, batch_sampler=[[1]])
        DataLoader([], shuffle=True)
        list(DataLoader([], shuffle=True))
        DataLoader(3)
        list(DataLoader(3))
        list(DataLoader(ten, 2, sampler=[50]))
        list(DataLoader(td, 2, sampler=[50]))
        list(DataLoader(td, 2, sampler=[-3]))
        list(DataLoader([T([1.]), T([1., 2.])], 2))
        list(DataLoader([1, 'a'], 2))
        list(DataLoader([object()], 1))
        list(DataLoader([None], 1))
        list(DataLoader(Dataset(), 1))
        list(DataLoader({'a': 1}))
        DataLoader(ten, unknown=1)
        DataLoader(ten, 2, False, None, None, 0, None, False, False, 0, None, None, None, 2)
    """,
        names(torch),
    )


@DATA
def attributes_that_stay(torch: Any) -> Any:
    loader = torch.utils.data.DataLoader(numbers(torch), 2)

    def put(name: str) -> Any:
        return attempt(lambda: setattr(loader, name, 3))

    return [
        put(n)
        for n in (
            "batch_size",
            "sampler",
            "drop_last",
            "dataset",
            "batch_sampler",
            "persistent_workers",
            "collate_fn",
            "anything",
        )
    ]


@DATA
def datasets_that_fetch_many(torch: Any) -> Any:
    class Many(torch.utils.data.Dataset):  # type: ignore[misc]
        def __init__(self) -> None:
            self.asked: list[Any] = []

        def __len__(self) -> int:
            return 5

        def __getitem__(self, i: int) -> int:
            return i

        def __getitems__(self, indices: list[int]) -> list[int]:
            self.asked.append(indices)
            return [10 * i for i in indices]

    many = Many()
    found = list(torch.utils.data.DataLoader(many, 2))
    subset = list(torch.utils.data.DataLoader(torch.utils.data.Subset(many, [4, 3, 0]), 2))
    return [found, subset, many.asked]


@DATA
def iterations_side_by_side(torch: Any) -> Any:
    loader = torch.utils.data.DataLoader(
        range(6), 2, shuffle=True, generator=torch.Generator().manual_seed(1)
    )
    pairs = [[a, b] for a, b in zip(loader, loader)]
    nested = [int(a.sum()) * int(b.sum()) for a in loader for b in loader]
    iterator = iter(loader)
    list(iterator)
    return [pairs, nested, iter(iterator) is iterator, attempt(lambda: next(iterator))]


@DATA
def worker_seeds(torch: Any) -> Any:
    """Random augmentations draw from the same generators, in the same order."""

    class Noisy(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> Any:
            return torch.rand(2) + i, random.random()

    random.seed(3)
    return [list(torch.utils.data.DataLoader(Noisy(), 2, shuffle=True)) for _ in range(2)]


@DATA
def a_subclass_of_the_loader(torch: Any) -> Any:
    class Doubled(torch.utils.data.DataLoader):  # type: ignore[misc]
        def __iter__(self) -> Any:
            for batch in super().__iter__():
                yield batch * 2

    loader = Doubled(range(4), batch_size=3)
    return [
        list(loader),
        len(loader),
        type(loader).__mro__[1].__name__,
        isinstance(loader, torch.utils.data.DataLoader),
        torch.utils.data.Dataset[int] is not None,
        torch.utils.data.DataLoader[int] is not None,
    ]


@DATA
def errors_in_datasets_pass(torch: Any) -> Any:
    class Odd(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> Any:
            raise KeyError(f"item {i}")

    return attempt(lambda: list(torch.utils.data.DataLoader(Odd(), 2)))
