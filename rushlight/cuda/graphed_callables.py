"""torch.cuda.make_graphed_callables: modules and functions whose forward and backward are CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.function import once_differentiable
from rushlight.utils import _pytree as tree

_REFUSED = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Callables (functions or modules, one or a tuple) whose work is captured once, forward and backward.

    sample_args: a tuple of tensors for each, of the shapes and requires_grad that all calls will have.
    They are the graphs' own memory from now on: a call copies its arguments there. Capture follows on
    `num_warmup_iters` runs. RuntimeError for modules with hooks, and for buffers that require gradients.
    """
    if torch.is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    if len(functions) != len(samples):
        raise RuntimeError(
            f"expected a tuple of arguments for each of {len(functions)} callables, got {len(samples)}"
        )
    pool = torch.cuda.graph_pool_handle() if pool is None else pool
    made = [_Graphed(f, tuple(s)) for f, s in zip(functions, samples, strict=True)]
    cuda: Any = torch.cuda
    stream = cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for each in made:
            each.warm_up(num_warmup_iters, allow_unused_input)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    for each in made:
        each.capture_forward(pool)
    for each in reversed(made):
        each.capture_backward(pool, allow_unused_input)
    found = tuple(each.callable() for each in made)
    return found[0] if single else found


class _Graphed:
    """One callable, its static inputs, outputs and gradients, and its two graphs."""

    # What capturing makes: the static outputs and their structure, the gradients of outputs and inputs.
    outputs: list[Any]
    result: Any
    seeds: list[torch.Tensor | None]
    grads: list[torch.Tensor | None]
    has_backward: bool

    def __init__(self, function: Any, sample: tuple[Any, ...]) -> None:
        self.function = function
        is_module = isinstance(function, torch.nn.Module)
        if is_module:
            if any(getattr(function, name) for name in _REFUSED):
                raise RuntimeError(
                    "Modules must not have hooks registered at the time they are passed. However, "
                    "registering "
                    "hooks on modules after passing them through make_graphed_callables is allowed."
                )
            if any(b.requires_grad for b in function.buffers()):
                raise RuntimeError(
                    "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only "
                    "parameters may be trainable. All buffers must have ``requires_grad=False``."
                )
        flat, self.shape = tree.tree_flatten(sample)
        if not all(isinstance(t, torch.Tensor) for t in flat):
            raise TypeError(
                "In the beta API, sample_args for each callable must contain only Tensors. Other types "
                "are not allowed."
            )
        self.sample, self.given = sample, len(flat)
        self.inputs = (*flat, *(tuple(function.parameters()) if is_module else ()))
        cuda: Any = torch.cuda
        self.forward, self.backward = cuda.CUDAGraph(), cuda.CUDAGraph()

    def _gradients(self, outputs: Sequence[Any], seeds: Sequence[Any], unused: bool) -> tuple[Any, ...]:
        wanted = tuple(t for t in self.inputs if t.requires_grad)
        pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
        if not pairs or not wanted:
            return ()
        return torch.autograd.grad(
            tuple(o for o, _ in pairs), wanted, tuple(s for _, s in pairs), allow_unused=unused
        )

    def warm_up(self, times: int, unused: bool) -> None:
        """Run forward and backward, as kernels are made and libraries choose at first."""
        for _ in range(times):
            outputs = tree.tree_flatten(self.function(*self.sample))[0]
            self._gradients(outputs, [torch.empty_like(o).fill_(0) for o in outputs], unused)

    def capture_forward(self, pool: Any) -> None:
        """The forward graph, with static outputs."""
        with torch.cuda.graph(self.forward, pool=pool):
            found = self.function(*self.sample)
        self.outputs, self.result = tree.tree_flatten(found)

    def capture_backward(self, pool: Any, unused: bool) -> None:
        """The backward graph, with static gradients of outputs and inputs."""
        self.seeds = [torch.empty_like(o) if o.requires_grad else None for o in self.outputs]
        found: tuple[Any, ...] = ()
        if any(o.requires_grad for o in self.outputs) and any(t.requires_grad for t in self.inputs):
            with torch.cuda.graph(self.backward, pool=pool):
                found = self._gradients(self.outputs, self.seeds, unused)
        left = iter(found)
        self.grads = [next(left, None) if t.requires_grad else None for t in self.inputs]
        self.has_backward = bool(found)

    def callable(self) -> Any:
        """What stands for the callable: a module whose `forward` replays, or a function."""
        replay = self._function()
        if not isinstance(self.function, torch.nn.Module):
            return replay
        module, eager, training = self.function, self.function.forward, self.function.training

        def forward(*args: Any, **kwargs: Any) -> Any:
            return eager(*args, **kwargs) if module.training is not training else replay(*args)

        module.forward = forward
        return module

    def _function(self) -> Callable[..., Any]:
        own = self

        class Graphed(torch.autograd.Function):
            """Replays of both graphs."""

            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                for static, t in zip(own.inputs[: own.given], inputs, strict=False):
                    if static.data_ptr() != t.data_ptr():
                        static.copy_(t)
                own.forward.replay()
                return tuple(o.detach() for o in own.outputs)

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, *grads: Any) -> Any:
                for static, g in zip(own.seeds, grads, strict=True):
                    if static is not None and g is not None and static.data_ptr() != g.data_ptr():
                        static.copy_(g)
                if own.has_backward:
                    own.backward.replay()
                return tuple(None if g is None else g.detach() for g in own.grads)

        def call(*args: Any) -> Any:
            flat = tree.tree_flatten(args)[0]
            found = Graphed.apply(*flat, *own.inputs[own.given :])
            return tree.tree_unflatten(list(found), own.result)

        return call
