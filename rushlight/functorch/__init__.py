"""functorch: what torch.func has been called before, and modules as functions of their parameters."""

from rushlight._functorch.apis import chunk_vmap as chunk_vmap
from rushlight._functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from rushlight._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.version import __version__ as __version__

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]
