"""Found as `torch` by the Python processes that a launched program starts: becomes Rushlight."""

import os
import sys
from importlib.util import find_spec

if find_spec("rushlight") is None:
    sys.path.append(os.path.abspath(os.path.join(__file__, "..", "..", "..", "..")))

from rushlight.launcher import install_as_torch

del sys.modules["torch"]
install_as_torch()
sys.modules["torch"] = sys.modules["rushlight"]
