# Written by `python tools/stubs.py`.
"""Modules over several devices and processes (torch.nn.parallel)."""

from rushlight.nn.parallel.data_parallel import DataParallel as DataParallel
from rushlight.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
from rushlight.nn.parallel.data_parallel import data_parallel as data_parallel
from rushlight.nn.parallel import distributed as distributed
__all__: list[str]
