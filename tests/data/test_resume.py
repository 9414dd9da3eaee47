"""DataLoader.state_dict: another loader goes on in the middle of an epoch."""

from __future__ import annotations

import io
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils.data import (
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

DATA = TensorDataset(torch.arange(40))


def numbers(batches: Any) -> list[Any]:
    return [b[0].tolist() for b in batches]


def own() -> Any:
    return torch.Generator().manual_seed(9)


LOADERS = {
    "in order": lambda **o: DataLoader(DATA, 3, **o),
    "shuffled": lambda **o: DataLoader(DATA, 3, shuffle=True, **o),
    "own generator": lambda **o: DataLoader(DATA, 3, shuffle=True, generator=own(), **o),
    "the sampler's generator": lambda **o: DataLoader(
        DATA, 3, sampler=RandomSampler(DATA, replacement=True, num_samples=31, generator=own()), **o
    ),
    "a subset": lambda **o: DataLoader(DATA, 3, sampler=SubsetRandomSampler(range(5, 30)), **o),
    "weights": lambda **o: DataLoader(DATA, 3, sampler=WeightedRandomSampler([1.0] * 40, 20), **o),
    "item by item": lambda **o: DataLoader(DATA, None, shuffle=True, **o),
    "one of two": lambda **o: DataLoader(DATA, 3, sampler=DistributedSampler(DATA, 2, 1), **o),
}


@pytest.mark.parametrize("workers", [(0, 0), (2, 2), (0, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("name", LOADERS)
def test_the_same_rest_and_the_same_next_epoch(name: str, workers: tuple[int, int]) -> None:
    torch.manual_seed(4)
    loader = LOADERS[name](num_workers=workers[0], worker="thread")
    if name == "one of two":
        loader.sampler.set_epoch(3)
    list(loader)
    rest: list[Any] = []
    state: Any = None
    for k, batch in enumerate(loader):
        torch.rand(3)  # A model draws too.
        if k > 3:
            rest.append(batch)
        elif k == 3:
            file = io.BytesIO()
            torch.save({"loader": loader.state_dict(), "generator": torch.get_rng_state()}, file)
    wanted = (
        [numbers(rest), numbers(loader), numbers(loader)]
        if name != "item by item"
        else [[b[0].item() for b in part] for part in (rest, loader, loader)]
    )
    file.seek(0)
    state = torch.load(file)
    torch.manual_seed(99)
    again = LOADERS[name](num_workers=workers[1], worker="thread")
    torch.set_rng_state(state["generator"])
    again.load_state_dict(state["loader"])
    found: list[Any] = [[], [], []]
    for batch in again:
        torch.rand(3)
        found[0].append(batch[0].tolist())
    found[1:] = [[b[0].tolist() for b in again] for _ in range(2)]
    assert found == wanted


@pytest.mark.parametrize("persistent", [False, True])
def test_processes(persistent: bool) -> None:
    loader = DataLoader(DATA, 3, shuffle=True, generator=own(), num_workers=2, persistent_workers=persistent)
    list(loader)
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    state = loader.state_dict()
    wanted = [numbers(iterator), numbers(loader)]
    loader.load_state_dict(state)
    assert [numbers(loader), numbers(loader)] == wanted


def test_between_epochs() -> None:
    loader = LOADERS["shuffled"]()
    torch.manual_seed(2)
    list(loader)
    state = loader.state_dict()
    wanted = numbers(loader)
    torch.manual_seed(3)
    loader.load_state_dict(state)
    assert numbers(loader) == wanted


def test_mistakes() -> None:
    state = DataLoader(DATA, 3).state_dict()
    with pytest.raises(ValueError, match="as many batches as this one \\(10\\), got one with 14"):
        DataLoader(DATA, 4).load_state_dict(state)
    with pytest.raises(ValueError, match="expected the states of 2 generators, got 1"):
        DataLoader(DATA, 3, generator=own()).load_state_dict(state)
    with pytest.raises(TypeError, match="expected what state_dict\\(\\) gave"):
        DataLoader(DATA, 3).load_state_dict({})
    loader = DataLoader(DATA, 3, num_workers=1, in_order=False, worker="thread")
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(ValueError, match="in_order=True"):
        loader.state_dict()


class Stream(IterableDataset):
    def __iter__(self) -> Any:
        return iter(range(10))


class Placed(IterableDataset):
    """One that says itself where it stands."""

    place = 0

    def __iter__(self) -> Any:
        while self.place < 10:
            self.place += 1
            yield self.place - 1
        self.place = 0

    def state_dict(self) -> dict[str, int]:
        return {"place": self.place}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.place = state["place"]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("dataset", [Stream, Placed])
def test_iterable_datasets(dataset: type, workers: int) -> None:
    loader = DataLoader(dataset(), 2, num_workers=workers, worker="thread")
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    state = loader.state_dict()
    other = DataLoader(dataset(), 2, num_workers=workers, worker="thread")
    other.load_state_dict(state)
    assert [batch.tolist() for batch in other] == [[4, 5], [6, 7], [8, 9]]
    assert len(list(other)) == 5
