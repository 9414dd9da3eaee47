# Written by `python tools/stubs.py`.
"""Modules over several devices and processes (torch.nn.parallel)."""

from rushlight.nn.parallel.data_parallel import DataParallel as DataParallel
from rushlight.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
from rushlight.nn.parallel import _functions as _functions
from rushlight.nn.parallel import comm as comm
from rushlight.nn.parallel.data_parallel import data_parallel as data_parallel
from rushlight.nn.parallel import distributed as distributed
from rushlight.nn.parallel.scatter_gather import gather as gather
from rushlight.nn.parallel.parallel_apply import parallel_apply as parallel_apply
from rushlight.nn.parallel.replicate import replicate as replicate
from rushlight.nn.parallel.scatter_gather import scatter as scatter
from rushlight.nn.parallel import scatter_gather as scatter_gather
def __dir__() -> list[str]: ...
__all__ = ['DataParallel', 'DistributedDataParallel', 'data_parallel', 'gather', 'parallel_apply',
    'replicate', 'scatter']
