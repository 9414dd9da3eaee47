"""functorch.experimental: what is in torch.func by now."""

from rushlight._functorch.apis import chunk_vmap
from rushlight.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
