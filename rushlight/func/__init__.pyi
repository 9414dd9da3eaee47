# Written by `python tools/stubs.py`.
"""torch.func: derivatives and vectorisation as functions of functions, which compose."""

from rushlight.func.stateless import functional_call as functional_call
from rushlight.func.stateless import functionalize as functionalize
from rushlight.func.derivatives import grad as grad
from rushlight.func.derivatives import grad_and_value as grad_and_value
from rushlight.func.jacobians import hessian as hessian
from rushlight.func.jacobians import jacfwd as jacfwd
from rushlight.func.jacobians import jacrev as jacrev
from rushlight.func.derivatives import jvp as jvp
from rushlight.func.derivatives import linearize as linearize
from rushlight.func.rearranging import rearrange as rearrange
from rushlight.func.stateless import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from rushlight.func.stateless import stack_module_state as stack_module_state
from rushlight.func.derivatives import vjp as vjp
from rushlight.func.vmapping import vmap as vmap
def __dir__() -> list[str]: ...
__all__ = ['vmap', 'rearrange', 'functional_call', 'stack_module_state', 'functionalize',
    'replace_all_batch_norm_modules_', 'grad', 'grad_and_value', 'vjp', 'jvp', 'linearize', 'jacrev',
    'jacfwd', 'hessian']
