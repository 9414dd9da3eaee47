"""The sampler of data-parallel training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """This rank's share of a dataset: every num_replicas-th index, shuffled alike on all ranks by seed and
    epoch.

    num_replicas and rank: by default the process group's. All ranks have as many: the first indices come
    again at the end, or with drop_last the last ones are left out. ValueError for a rank outside.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            num_replicas, rank = self._from_group(num_replicas, rank)
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        n = len(dataset)
        if drop_last and n % num_replicas:
            self.num_samples = math.ceil((n - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    @staticmethod
    def _from_group(num_replicas: int | None, rank: int | None) -> tuple[int, int]:
        try:
            group = torch.distributed
        except AttributeError:
            raise RuntimeError(
                "Requires distributed package to be available: pass num_replicas= and "
                "rank= to DistributedSampler"
            ) from None
        return (
            group.get_world_size() if num_replicas is None else num_replicas,
            group.get_rank() if rank is None else rank,
        )

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(n, generator=generator).tolist()
        else:
            indices = list(range(n))
        if not self.drop_last:
            missing = self.total_size - len(indices)
            indices += (indices * math.ceil(missing / max(len(indices), 1)))[:missing]
        else:
            indices = indices[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the shuffle of an epoch; call it before each, on all ranks."""
        self.epoch = epoch
