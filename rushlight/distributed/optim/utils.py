"""torch.distributed.optim.utils: which optimizer of handed gradients stands for which of torch.optim."""

from rushlight.distributed.optim.functional import (
    as_functional_optim,
    functional_optim_map,
    register_functional_optim,
)

__all__ = ["as_functional_optim", "functional_optim_map", "register_functional_optim"]
