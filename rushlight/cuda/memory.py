"""torch.cuda.memory: what torch.cuda says about memory, beside all the rest of it."""

from rushlight._engine.core import accelerator
from rushlight._engine.names.absent_devices import functions
from rushlight.cuda import *  # noqa: F403

_names = functions("cuda.memory")
globals().update(_names)
if accelerator.platform() is not None:
    from rushlight._engine.devices.cuda import memory_api as _there

    globals().update({name: getattr(_there, name) for name in _names})
