"""torch._functorch: where PyTorch's programs find the memory budget of compile()."""

from rushlight._functorch import config as config
