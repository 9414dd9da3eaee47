"""Processes started by spawn: torch.multiprocessing, DataLoader's workers, ProcessPoolExecutor, pickles."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import torch
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def work(rank, shared):
    shared[rank] = rank + 1


def measure(module, x):
    import rushlight

    assert torch is rushlight and isinstance(module, rushlight.nn.Linear)
    return module(x).detach()


if __name__ == "__main__":
    shared = torch.zeros(2).share_memory_()
    mp.spawn(work, (shared,), nprocs=2)
    assert shared.tolist() == [1, 2], shared
    data = TensorDataset(torch.arange(8).float())
    loader = DataLoader(data, 2, num_workers=2, multiprocessing_context="spawn")
    assert torch.cat([x for (x,) in loader]).tolist() == list(range(8))
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert torch.equal(pool.submit(measure, model, x).result(), model(x))
    assert torch.equal(pickle.loads(pickle.dumps(model))(x), model(x))
    print("spawned")
