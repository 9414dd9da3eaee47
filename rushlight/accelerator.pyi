# Written by `python tools/stubs.py`.
"""torch.accelerator: programs that are written for any device ask here; without CUDA there is none."""
from contextlib import AbstractContextManager
from typing import Any

from rushlight._engine.devices.cuda.any_api import current_accelerator as current_accelerator
from rushlight._engine.devices.cuda.any_api import current_device_idx as current_device_idx
from rushlight._engine.devices.cuda.any_api import current_device_index as current_device_index
from rushlight._engine.devices.cuda.any_api import current_stream as current_stream
from rushlight._engine.devices.cuda.api import device_count as device_count
from rushlight._engine.devices.cuda.any_api import empty_cache as empty_cache
from rushlight._engine.devices.cuda.any_api import empty_host_cache as empty_host_cache
from rushlight._engine.devices.cuda.any_api import get_device_capability as get_device_capability
from rushlight._engine.devices.cuda.any_api import get_memory_info as get_memory_info
from rushlight._engine.devices.cuda.api import is_available as is_available
from rushlight._engine.devices.cuda.memory_api import max_memory_allocated as max_memory_allocated
from rushlight._engine.devices.cuda.memory_api import max_memory_reserved as max_memory_reserved
from rushlight._engine.devices.cuda.memory_api import memory_allocated as memory_allocated
from rushlight._engine.devices.cuda.memory_api import memory_reserved as memory_reserved
from rushlight._engine.devices.cuda.memory_api import memory_stats as memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_peak_memory_stats as reset_peak_memory_stats
from rushlight._engine.devices.cuda.any_api import set_device_idx as set_device_idx
from rushlight._engine.devices.cuda.any_api import set_device_index as set_device_index
from rushlight._engine.devices.cuda.any_api import set_stream as set_stream
from rushlight._engine.devices.cuda.any_api import synchronize as synchronize
def device_index(device: int | None, /) -> AbstractContextManager[Any]:
    """A `with` block in which the device of a number is the current one; None changes nothing."""
