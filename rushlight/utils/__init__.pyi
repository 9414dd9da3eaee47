# Written by `python tools/stubs.py`.
"""Tools around tensors, modules and data (torch.utils). Sub-packages load at first mention."""

from rushlight.utils import _contextlib as _contextlib
from rushlight.utils import _import_utils as _import_utils
from rushlight.utils import _mode_utils as _mode_utils
from rushlight.utils import _python_dispatch as _python_dispatch
from rushlight.utils import _pytree as _pytree
from rushlight.utils import ambient as ambient
from rushlight.utils import benchmark as benchmark
from rushlight.utils import bundled_inputs as bundled_inputs
from rushlight.utils import checkpoint as checkpoint
from rushlight.utils import collect_env as collect_env
from rushlight.utils import data as data
from rushlight.utils import deterministic as deterministic
from rushlight.utils import flop_counter as flop_counter
from rushlight.utils import hooks as hooks
from rushlight.utils import mobile_optimizer as mobile_optimizer
from rushlight.utils import oplog as oplog
from rushlight.utils import recomputing as recomputing
from rushlight.utils import reentrant as reentrant
from rushlight.utils import selective as selective
from rushlight.utils.swapping import swap_tensors as swap_tensors
from rushlight.utils import tensorboard as tensorboard
from rushlight.utils import weak as weak
def __dir__() -> list[str]: ...
