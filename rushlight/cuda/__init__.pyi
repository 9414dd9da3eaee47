# Written by `python tools/stubs.py`.
"""torch.cuda: says that there is no GPU, as PyTorch's builds for CPUs do.

What only prepares for one, or asks how much of it is used, does nothing; what needs one raises PyTorch's
exceptions (AttributeError where its own module says by accident that something inside it is absent).
"""

from rushlight.cuda import amp as amp
from rushlight.cuda import memory as memory
from rushlight.cuda import nvtx as nvtx
