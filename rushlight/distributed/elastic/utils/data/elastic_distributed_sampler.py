"""The sampler of runs that begin anew within an epoch (torch.distributed.elastic.utils.data)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight.utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """This rank's share of a dataset from start_index on, shuffled alike on all ranks by the epoch.

    All ranks have as many: the first indices come again at the end.
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, start_index: int = 0
    ) -> None:
        super().__init__(dataset=dataset, num_replicas=num_replicas, rank=rank)
        if start_index >= len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        left = len(self.dataset) - self.start_index
        indices = [n + self.start_index for n in torch.randperm(left, generator=generator).tolist()]
        indices += indices[: self.total_size - left]
        return iter(indices[self.rank : self.total_size : self.num_replicas])
