"""Found as `torchvision` by the Python processes that a launched program starts: becomes rushlight_vision."""

import sys

import torch  # noqa: F401 - Rushlight's stand-in beside this package: it puts the finder in place

del sys.modules["torchvision"]
import torchvision  # noqa: E402, F401
