"""Found as `functorch` by the Python processes that a launched program starts: rushlight.functorch."""

import sys

import torch  # noqa: F401 - Rushlight's stand-in beside this package: it puts the finder in place

del sys.modules["functorch"]
import functorch  # noqa: E402, F401
