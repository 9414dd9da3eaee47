"""torch.func: derivatives and vectorisation as functions of functions, which compose."""
from rushlight.base.lazy import lazy_names

_HOMES = {"vmap": "vmapping", "functional_call": "stateless", "stack_module_state": "stateless",
          "functionalize": "stateless",
          **dict.fromkeys(("grad", "grad_and_value", "vjp", "jvp", "linearize"), "derivatives"),
          **dict.fromkeys(("jacrev", "jacfwd", "hessian"), "jacobians")}
__all__ = [*_HOMES]
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
