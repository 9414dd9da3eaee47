"""PyTorch's place of DistributedDataParallel."""

from rushlight.distributed.data_parallel import DistributedDataParallel as DistributedDataParallel
