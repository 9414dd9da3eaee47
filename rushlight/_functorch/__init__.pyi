# Written by `python tools/stubs.py`.
"""torch._functorch: torch.func's parts by their older names, and the memory budget of compile()."""

from rushlight._functorch import apis as apis
from rushlight._functorch import deprecated as deprecated
from rushlight._functorch import eager_transforms as eager_transforms
from rushlight._functorch import interpreters as interpreters
from rushlight._functorch import make_functional as make_functional
from rushlight._functorch import utils as utils
from rushlight._functorch import config as config
def __dir__() -> list[str]: ...
