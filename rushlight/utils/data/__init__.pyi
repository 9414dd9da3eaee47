# Written by `python tools/stubs.py`.
"""torch.utils.data: datasets, samplers, the DataLoader."""

from rushlight.utils.data.sampler import BatchSampler as BatchSampler
from rushlight.utils.data.dataset import ChainDataset as ChainDataset
from rushlight.utils.data.dataset import ConcatDataset as ConcatDataset
from rushlight.utils.data.datapipes.datapipe import DFIterDataPipe as DFIterDataPipe
from rushlight.utils.data.datapipes.datapipe import DataChunk as DataChunk
from rushlight.utils.data.dataloader import DataLoader as DataLoader
from rushlight.utils.data.dataset import Dataset as Dataset
from rushlight.utils.data.distributed import DistributedSampler as DistributedSampler
from rushlight.utils.data.datapipes.datapipe import IterDataPipe as IterDataPipe
from rushlight.utils.data.dataset import IterableDataset as IterableDataset
from rushlight.utils.data.datapipes.datapipe import MapDataPipe as MapDataPipe
from rushlight.utils.data.sampler import RandomSampler as RandomSampler
from rushlight.utils.data.sampler import Sampler as Sampler
from rushlight.utils.data.sampler import SequentialSampler as SequentialSampler
from rushlight.utils.data.dataset import StackDataset as StackDataset
from rushlight.utils.data.dataset import Subset as Subset
from rushlight.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from rushlight.utils.data.dataset import TensorDataset as TensorDataset
from rushlight.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from rushlight.utils.data.dataloader import _DatasetKind as _DatasetKind
from rushlight.utils.data.datapipes._decorator import argument_validation as argument_validation
from rushlight.utils.data import backward_compatibility as backward_compatibility
from rushlight.utils.data import collate as collate
from rushlight.utils.data import dataloader as dataloader
from rushlight.utils.data import datapipes as datapipes
from rushlight.utils.data import dataset as dataset
from rushlight.utils.data.collate import default_collate as default_collate
from rushlight.utils.data.collate import default_convert as default_convert
from rushlight.utils.data import distributed as distributed
from rushlight.utils.data import fetch as fetch
from rushlight.utils.data.datapipes._decorator import functional_datapipe as functional_datapipe
from rushlight.utils.data.dataloader import get_worker_info as get_worker_info
from rushlight.utils.data import graph as graph
from rushlight.utils.data import graph_settings as graph_settings
from rushlight.utils.data.datapipes._decorator import guaranteed_datapipes_determinism as guaranteed_datapipes_determinism
from rushlight.utils.data import iterator as iterator
from rushlight.utils.data.datapipes._decorator import non_deterministic as non_deterministic
from rushlight.utils.data.dataset import random_split as random_split
from rushlight.utils.data.datapipes._decorator import runtime_validation as runtime_validation
from rushlight.utils.data.datapipes._decorator import runtime_validation_disabled as runtime_validation_disabled
from rushlight.utils.data import sampler as sampler
from rushlight.utils.data import worker as worker
def __dir__() -> list[str]: ...
__all__ = ['BatchSampler', 'ChainDataset', 'ConcatDataset', 'DFIterDataPipe', 'DataChunk', 'DataLoader',
    'Dataset', 'DistributedSampler', 'IterDataPipe', 'IterableDataset', 'MapDataPipe', 'RandomSampler',
    'Sampler', 'SequentialSampler', 'StackDataset', 'Subset', 'SubsetRandomSampler', 'TensorDataset',
    'WeightedRandomSampler', '_DatasetKind', 'argument_validation', 'default_collate', 'default_convert',
    'functional_datapipe', 'get_worker_info', 'guaranteed_datapipes_determinism', 'non_deterministic',
    'random_split', 'runtime_validation', 'runtime_validation_disabled']
