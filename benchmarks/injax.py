"""Training steps, and kernels that PyTorch is slow at, under JAX's jit, for benchmarks.worker."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Call = Callable[[], Any]


def _step(sizes: tuple[int, ...], batch: int, decay: float, drop: float) -> Call:
    """AdamW (decay 0: Adam) on the cross-entropy of linear layers with ReLU and dropout between them."""
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    layers = list(zip(sizes, sizes[1:], strict=False))
    params = [
        p
        for a, b in layers
        for p in (jax.random.uniform(key, (a, b), minval=-(a**-0.5), maxval=a**-0.5), jnp.zeros(b))
    ]
    zeros = [[jnp.zeros_like(p) for p in params] for _ in range(2)]
    x, y = jax.random.normal(key, (batch, sizes[0])), jax.random.randint(key, (batch,), 0, sizes[-1])

    def loss(params: Any, key: Any, x: Any, y: Any) -> Any:
        for k in range(0, len(params), 2):
            x = x @ params[k] + params[k + 1]
            if k < len(params) - 2:
                x = jax.nn.relu(x)
                key, mine = jax.random.split(key)
                x = jnp.where(jax.random.bernoulli(mine, 1 - drop, x.shape), x / (1 - drop), 0) if drop else x
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()

    def adam(p: Any, g: Any, m: Any, v: Any, t: Any) -> Any:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        step = (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return p * (1 - 1e-3 * decay) - 1e-3 * step, m, v

    def whole(state: Any, x: Any, y: Any) -> Any:
        params, m, v, t, key = state
        key, mine = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(params, mine, x, y)
        params, m, v = zip(*[adam(*of, t + 1) for of in zip(params, grads, m, v, strict=True)], strict=True)
        return value, (params, m, v, t + 1, key)

    step = jax.jit(whole, donate_argnums=0)
    state = [(tuple(params), tuple(zeros[0]), tuple(zeros[1]), jnp.zeros(()), key)]

    def call() -> None:
        value, state[0] = step(state[0], x, y)
        value.block_until_ready()

    return call


def _kernel(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Call:
    """A function of jax.numpy, jax.lax and normal numbers (or, of no shape, of row numbers)."""
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    given = [
        jax.random.normal(key, shape) if shape else jax.random.randint(key, (16384,), 0, 32768)
        for shape in shapes
    ]
    made = jax.jit(lambda *given: function(jnp, jax.lax, *given))
    return lambda: made(*given).block_until_ready()


def _max_pool(jnp: Any, lax: Any, x: Any) -> Any:
    pad = ((0, 0), (0, 0), (1, 1), (1, 1))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), pad)


def _look_up(jnp: Any, lax: Any, rows: Any, grad: Any) -> Any:
    return jnp.zeros((32768, 256)).at[rows].add(grad)


_LARGE = (4096, 1024)
_KERNELS: dict[str, tuple[Any, ...]] = {
    "kernel_add": (lambda jnp, lax, a, b: a + b, _LARGE, _LARGE),
    "kernel_var": (lambda jnp, lax, x: jnp.var(x, ddof=1), _LARGE),
    "kernel_var_0": (lambda jnp, lax, x: jnp.var(x, 0, ddof=1), _LARGE),
    "kernel_var_1": (lambda jnp, lax, x: jnp.var(x, 1, ddof=1), _LARGE),
    "kernel_cumsum_0": (lambda jnp, lax, x: jnp.cumsum(x, 0), _LARGE),
    "kernel_max_pool": (_max_pool, (16, 64, 112, 112)),
    "kernel_embedding_backward": (_look_up, (), (16384, 256)),
}
# Workloads by their names in PyTorch.
WORKLOADS = {
    name: SimpleNamespace(prepare=lambda _, args=args: _step(*args))
    for name, args in {
        "mlp_step_compiled": ((20, 64, 32, 2), 64, 0.01, 0.0),
        "compiled_mlp_wide": ((784, 256, 256, 10), 64, 0.0, 0.2),
    }.items()
} | {name: SimpleNamespace(prepare=lambda _, args=args: _kernel(*args)) for name, args in _KERNELS.items()}
