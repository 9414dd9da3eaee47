"""torch.autograd.Function: ops whose gradients the user writes."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL, no_grad
from rushlight._engine.autograd.in_place import View, rebase
from rushlight._engine.autograd.node import GradientEdge, Node, edge, freed, new
from rushlight._engine.autograd.node_classes import DelayedError
from rushlight._engine.autograd.saved_tensor_hooks import HOOKS, PackedTensor, pack
from rushlight._engine.autograd.saved_tensors import (
    check_version,
    reattach,
    result_alias,
    twin,
    version_of,
)
from rushlight._engine.core.callers import warn
from rushlight._engine.dispatch.interpreters import MODES, STACK, interpret, wrapped
from rushlight._engine.dispatch.nodes.formula_nodes import fit
from rushlight._engine.tensors.geometry import lookup_function
from rushlight._engine.tensors.tensor import BELOW, WRAPPED, Tensor, storage, wrap

_FREED: Any = ("freed",)
_VIEW = (
    "Output {} of {} is a view and is being modified inplace. This view was created inside a custom Function "
    "(or because an input was returned as-is) and the autograd logic to handle view+inplace would override "
    "the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
    "is forbidden. You can fix this by cloning the output of the custom Function."
)


def _held(t: Any, number: int) -> Any:
    """What a node keeps of a tensor: itself; of result `number` its memory, outside the node's own circle."""
    if number < 0:
        return t
    if type(t) in BELOW:  # with what a class of a program keeps in it
        return twin(t)
    return t.detach() if type(t) in WRAPPED else result_alias(t)


class FunctionNode(Node):
    """The graph's node of a Function. What a program has of it is a FunctionCtx, whose attributes are `user`:
    so no name of a program's own meets one of the graph's.
    """

    __slots__ = (
        "user",
        "ctx",
        "to_save",
        "for_forward",
        "forward",
        "dirty",
        "silent",
        "materialize",
        "shapes",
        "inputs",
    )
    multi = True
    function: Any = None

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        super().__init__(tuple(edge(x) if isinstance(x, Tensor) else None for x in inputs), [])
        self.user: dict[str, Any] = {
            "needs_input_grad": tuple(isinstance(x, Tensor) and x._grad_node is not None for x in inputs)
        }
        self.ctx: Any = None
        self.inputs = [
            (x._geometry.shape, x._kind) if isinstance(x, Tensor) and x._grad_node else None for x in inputs
        ]
        self.to_save: tuple[Any, ...] = ()
        self.for_forward: tuple[Any, ...] = ()
        self.forward = False  # whether jvp runs, which has tensors of its own
        self.dirty: tuple[Any, ...] = ()
        self.silent: tuple[Any, ...] = ()
        self.materialize = True
        self.shapes: list[Any] = []

    def settle(self) -> Any:
        """The ctx, which is held weakly, or it and its node would be a cycle."""
        found = None if self.ctx is None else self.ctx()
        if found is None:
            found = new(self.function._backward_cls)
            found._node, found.__dict__ = self, self.user
            self.ctx = weakref.ref(found)
        return found

    def tensors(self) -> tuple[Any, ...]:
        """What was saved; RuntimeError once freed, or where it was written to since."""
        if self.forward:
            return self.for_forward
        if self.saved is _FREED:
            raise freed()
        if not self.saved:
            return self.to_save
        return tuple(None if kept is None else self._unpack(kept) for kept in self.saved)

    def _unpack(self, kept: Any) -> Any:
        if kept.__class__ is PackedTensor:
            return kept.restore(self, True)
        t, version, number = kept
        found = check_version(self, t, version)
        return _attached(found, self, number) if number >= 0 else found

    @property
    def freed(self) -> bool:
        """Whether what was saved is gone."""
        return self.saved is _FREED

    def close(self, outputs: tuple[Any, ...]) -> None:
        """When the results stand in the graph: what was saved, as the graph must keep it. A result that has
        no gradient, and an input of which a view was made a result, are kept as any other tensor.
        """
        kept: list[Any] = []
        for position, t in enumerate(self.to_save):
            if t is None:
                kept.append(None)
                continue
            if not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {position} is of type "
                    f"{type(t).__name__}; keep other values as attributes of ctx"
                )
            number = -1
            if t._grad_node is self:
                number = next((i for i, o in enumerate(outputs) if o is t), -1)
            if HOOKS.stack:
                kept.append(pack(self, t, number))
            else:
                kept.append((_held(t, number), version_of(t), number))
        self.to_save = ()
        self.saved = kept

    def results(self) -> int:
        """How many results forward gave."""
        return len(self.shapes)

    def release(self) -> None:
        """Let go of what was saved: backward may run again if it does not ask for that."""
        self.saved = _FREED

    def apply(self, grads: Any) -> Any:
        """Run the user's backward."""
        grads = list(grads) + [None] * (len(self.shapes) - len(grads))
        if self.materialize:
            grads = [
                _zeros(shape) if g is None and shape is not None else g
                for g, shape in zip(grads, self.shapes, strict=True)
            ]
        found = pullback(self.function)(self.settle(), *grads)
        found = found if isinstance(found, tuple) else (found,)
        return _check_count(self, found)


class FunctionCtx:
    """The `ctx` of forward and backward, and the `grad_fn` of what apply() gave: a Function's node as a
    program sees it, with whatever attributes it sets there.
    """

    __slots__ = ("_node", "__dict__", "__weakref__")
    _node: FunctionNode
    needs_input_grad: tuple[bool, ...]
    saved_for_forward: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward, where they are ctx.saved_tensors; others are refused once a
        graph is to hold them.
        """
        self._node.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp; they are ctx.saved_for_forward, and ctx.saved_tensors in jvp."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
        self._node.for_forward = self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward wrote to in place."""
        self._node.dirty = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Long without a meaning."""
        warn(
            "function 'mark_shared_storage' is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which results have no gradient."""
        self._node.silent = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True) or None (False) for results without a gradient."""
        self._node.materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved; RuntimeError once freed, or where it was written to since."""
        return self._node.tensors()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of saved_tensors."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self._node.tensors()

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, as it is held: each takes a pair of hooks of its own (register_hooks)."""
        if self._node.freed:
            raise freed()
        # few programs look at what is saved
        from rushlight._engine.autograd.saved_values import of_function

        return of_function(self._node)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The nodes that this one's gradients flow into."""
        return self._node.next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on the node."""
        return self._node.metadata

    def name(self) -> str:
        """The node's name."""
        return type(self).__name__

    def _sequence_nr(self) -> int:
        return self._node.seq

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_inputs, grad_outputs) after the node ran; a result replaces grad_inputs."""
        return self._node.register_hook(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_outputs) before the node runs; a result replaces them."""
        return self._node.register_prehook(hook)

    def __call__(self, *grads: Any) -> Any:
        return self._node(*grads)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"


BackwardCFunction = FunctionCtx


def _zeros(like: Any) -> Tensor:
    shape, kind = like
    if kind.off_cpu:
        found: Tensor = lookup_function("zeros")(shape, dtype=kind.dtype, device=kind.device)
        return found
    return wrap(np.zeros(shape, kind.np), kind)


def _check_count(ctx: FunctionNode, found: tuple[Any, ...]) -> tuple[Any, ...]:
    wanted = len(ctx.next)
    if len(found) > wanted and all(g is None for g in found[wanted:]):
        found = found[:wanted]
    if len(found) != wanted:
        raise RuntimeError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected "
            f"{wanted}, got {len(found)})"
        )
    return tuple(
        g if g is None or of is None else _fitted(ctx, i, g, *of)
        for i, (g, of) in enumerate(zip(found, ctx.inputs, strict=True))
    )


def _fitted(ctx: FunctionNode, number: int, g: Any, shape: tuple[int, ...], of: Any) -> Tensor:
    """A gradient in its input's shape and dtype."""
    if not isinstance(g, Tensor):
        raise RuntimeError(f"function {ctx.name()}: expected Variable or None (got {type(g).__name__})")
    have = g._geometry.shape
    if have != shape and (
        len(have) < len(shape) or any(n not in (1, m) for n, m in zip(shape[::-1], have[::-1], strict=False))
    ):
        raise RuntimeError(
            f"Function {ctx.name()} returned an invalid gradient at index {number} - got "
            f"{list(have)} but expected shape compatible with {list(shape)}"
        )
    return g if have == shape and g._kind is of else fit(g, shape, of)


class FunctionMeta(type):
    """Gives each Function the classes of its nodes and of their ctx, named as PyTorch names them."""

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        cls._backward_cls = type(f"{name}Backward", (FunctionCtx,), {"__slots__": (), "_forward_cls": cls})
        cls._node_cls = type(f"{name}Backward", (FunctionNode,), {"__slots__": (), "function": cls})


class Function(metaclass=FunctionMeta):
    """Subclass with static methods forward(ctx, ...) [or forward(...) and setup_context(ctx, inputs,
    output)] and backward(ctx, *grads); call as Sub.apply(...).
    """

    _backward_cls: type[FunctionCtx]
    _node_cls: type[FunctionNode]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you "
            "should invoke them on the class itself. Instantiating an autograd function will raise an error "
            "in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please "
            "use new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The op's computation."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient per argument of forward."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward
    generate_vmap_rule = False

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """One tangent per result, from one per argument of forward."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """(results, their batch dims) on batches; info has batch_size and randomness."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record it."""
        if MODES:
            if wrapped(args):
                return interpret(AsRow(cls), cls.apply, args, kwargs)
            for mode in STACK.modes:  # a recorder that keeps Functions whole, with their own gradients
                if isinstance(mode, KeepsFunctions) and mode.recording():
                    return mode.applied(cls, args, kwargs)
        return run(cls, cls._node_cls(args), args, kwargs)


class InplaceFunction(Function):
    """A Function with a flag `inplace` on its instances: for programs that were written so."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def pullback(of: type[Function]) -> Callable[..., Any]:
    """A Function's backward(), which may be called vjp()."""
    if of.vjp is Function.vjp:
        return of.backward
    if of.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return of.vjp


def run(of: type[Function], node: FunctionNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`apply` with this node."""
    recording = LOCAL.enabled and any(isinstance(a, Tensor) and a._grad_node is not None for a in args)
    ctx = node.settle()
    before, LOCAL.enabled = LOCAL.enabled, False
    depth = LOCAL.depth
    if depth:
        LOCAL.depth = depth - 1  # forward is below the transform that has its backward
    try:
        if of.setup_context is Function.setup_context:
            output = of.forward(ctx, *args, **kwargs)
        else:
            output = of.forward(*args, **kwargs)
            of.setup_context(ctx, args, output)
            if node.to_save or node.for_forward:
                _refuse_as_is(node, args, output)
    finally:
        LOCAL.enabled = before
        if depth:
            LOCAL.depth = depth
    return _record(node, args, output, recording)


def in_forward() -> bool:
    """Whether a custom Function's forward is running, in which grad mode is off without being said so."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not run.__code__:
        frame = frame.f_back
    return frame is not None


class KeepsFunctions:
    """An interpreter that records a call of a custom Function as such, not the ops that its forward runs."""

    def recording(self) -> bool:
        """Whether it records what runs now."""
        raise NotImplementedError("abstract: a recorder, such as torch.jit.trace's, defines it")

    def applied(self, of: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of `of.apply(*args, **kwargs)`, recorded."""
        raise NotImplementedError("abstract: a recorder, such as torch.jit.trace's, defines it")


class AsRow:
    """A Function, as interpreters see it."""

    kind, autocast = "function", "keep"

    def __init__(self, of: type[Function]) -> None:
        self.of, self.name = of, of.__name__


def _refuse_as_is(node: FunctionNode, args: tuple[Any, ...], output: Any) -> None:
    """An input that is a result, too, may only be saved by who makes it one."""
    outputs = output if isinstance(output, (tuple, list)) else (output,)
    for t in (*node.to_save, *node.for_forward):
        handed = any(t is a for a in args) and any(t is o for o in outputs)
        if t is not None and handed and not any(t is d for d in node.dirty):
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not "
                "supported if you override setup_context. You should return and save a view of the input "
                "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
            )


def _attached(t: Tensor, node: Any, number: int) -> Tensor:
    if t.__class__ in WRAPPED:
        wrapped: Any = t
        found: Tensor = wrapped._again(_attached(wrapped.value, node, number))
        return found
    return reattach(t, node, number)


def _record(node: FunctionNode, args: tuple[Any, ...], output: Any, recording: bool) -> Any:
    """The results of forward, in the graph where that is recorded."""
    outputs = output if isinstance(output, (tuple, list)) else (output,)
    _check_dirty(node, args, outputs, recording)
    fresh = tuple(_as_result(node, number, o, args) for number, o in enumerate(outputs))
    if recording:
        node.shapes = [(o._geometry.shape, o._kind) if isinstance(o, Tensor) else None for o in fresh]
        silent = {id(t) for t in node.silent}
        for number, (o, original) in enumerate(zip(fresh, outputs, strict=True)):
            if isinstance(o, Tensor):
                _place(node, number, o, id(original) not in silent and o._kind.dtype.category >= 2)
            if silent and id(original) in silent and node.user.get("_materialize_non_diff_grads") is False:
                node.shapes[number] = None
        node.close(fresh)
        node.dirty = ()  # the node would hold what holds it
    return fresh[0] if not isinstance(output, (tuple, list)) else type(output)(fresh)


def _place(node: FunctionNode, number: int, o: Tensor, differentiable: bool) -> None:
    """A result in the graph."""
    if not differentiable:
        if not any(o is d for d in node.dirty):
            o._grad_node, o._output_nr = None, 0
    elif any(o is d for d in node.dirty):
        target = result_alias(o)
        target._grad_node, target._output_nr = node, number
        storage(o).version += 1
        rebase(o, target)
    else:
        o._grad_node, o._output_nr = node, number


def _check_dirty(node: FunctionNode, args: tuple[Any, ...], outputs: Any, recording: bool) -> None:
    for d in node.dirty:
        if not any(d is o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The "
                "inputs that are modified inplace must all be outputs of the Function."
            )
        if not any(d is a for a in args):
            warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
                "input, there is no need to pass it to mark_dirty()."
            )
        if recording and d._grad_node is not None and d.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if recording and d._is_view() and sum(isinstance(o, Tensor) for o in outputs) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function "
                "cannot return more than one Tensor. This is not supported by the current autograd engine. "
                "You should either make sure the input is not a view (using .clone() for example) or make "
                "your Function only return one Tensor (potentially splitting it into two Functions: one "
                "doing the inplace that returns a single Tensor and a second one that does the other "
                "operations)."
            )


def _as_result(node: FunctionNode, number: int, o: Any, args: tuple[Any, ...]) -> Any:
    """A result of its own: an input that is handed through becomes a view; views may not be written to."""
    if not isinstance(o, Tensor) or any(o is d for d in node.dirty):
        return o
    base = next((a for a in args if a is o), None)
    if base is not None:
        o = o.detach()
    elif (base := o._base) is None or not any(
        isinstance(a, Tensor) and (a is base or a._base is base) for a in args
    ):
        return o
    if o.__class__ not in WRAPPED:
        o._view_of = View(base, None, _VIEW.format(number, type(node).__name__), None)
    return o


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a backward that cannot be differentiated again: doing so raises."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = LOCAL.enabled
        with no_grad():
            found = function(ctx, *args)
        if not recording or not any(isinstance(a, Tensor) and a._grad_node is not None for a in args):
            return found
        outs = found if isinstance(found, tuple) else (found,)
        refusing = DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(outs)
        )
        return refusing(*[o.detach().requires_grad_() if isinstance(o, Tensor) else o for o in outs])

    return wrapper


def _engine_root(place: int, t: Any, grad: Any) -> tuple[GradientEdge, Tensor]:
    """Where a pass begins that _Engine runs, and with which gradient. RuntimeError where it cannot."""
    if not isinstance(t, (Tensor, GradientEdge)):
        raise RuntimeError(f"element {place} of tensors tuple is neither a Tensor nor a GradientEdge")
    if t._grad_node is None:
        raise RuntimeError(f"element {place} of tensors does not require grad and does not have a grad_fn")
    if grad is None:
        raise RuntimeError(
            f"element {place} of gradients tuple is None, but the corresponding Tensor requires grad"
        )
    if not isinstance(grad, Tensor):
        raise RuntimeError(f"element {place} of gradients tuple is not a Tensor or None")
    if isinstance(t, Tensor):
        grad = _fitting(place, t, grad)
    return GradientEdge(t._grad_node, t._output_nr), grad


def _fitting(place: int, t: Tensor, grad: Any) -> Tensor:
    """A gradient of a tensor's dtype and shape. RuntimeError for one that is not made such."""
    if grad.is_complex() and not t.is_complex():
        raise RuntimeError(f"invalid gradient at index {place} - got {grad.dtype} for a tensor of {t.dtype}")
    freed = t.grad_fn is not None and t.shape == (1,) and grad.numel() != 1  # see _Engine.run_backward
    if grad.shape != t.shape and not freed:
        try:
            grad = grad.sum_to_size(t.shape)
        except RuntimeError:
            raise RuntimeError(
                f"invalid gradient at index {place} - got {list(grad.shape)} but expected shape compatible "
                f"with {list(t.shape)}"
            ) from None
    return grad.to(t.dtype)  # type: ignore[no-any-return]


class _Engine:
    """`Variable._execution_engine`: the hook that distributed programs use."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call `callback` when the running backward is through."""
        # the method bears its name
        from rushlight._engine.autograd.hooks import queue_callback

        queue_callback(callback)

    @staticmethod
    def run_backward(
        tensors: Sequence[Tensor],
        grad_tensors: Sequence[Any],
        keep_graph: bool,
        create_graph: bool,
        inputs: Sequence[Tensor] = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> tuple[Any, ...] | None:
        """A backward pass as the engine runs it: the gradients of `inputs`, or None if accumulated.

        tensors, grad_tensors, inputs: tuples; gradients are tensors, edges may stand for tensors. A gradient
        is compared with what its op gave, not with the tensor: pipelines free the memory of what they sent
        on, and leave one element in it. RuntimeError for others.
        """
        from rushlight._engine.autograd import engine  # it imports this file

        for name, given in (("tensors", tensors), ("grad_tensors", grad_tensors)):
            if not isinstance(given, tuple):
                raise RuntimeError(
                    f"{name} argument is expected to be a tuple, but got {type(given).__name__}"
                )
        if len(tensors) != len(grad_tensors):
            raise RuntimeError(f"got {len(tensors)} tensors and {len(grad_tensors)} gradients")
        pairs = enumerate(zip(tensors, grad_tensors, strict=True))
        found = [_engine_root(place, t, g) for place, (t, g) in pairs]
        roots: list[Any] = [root for root, _ in found]
        grads: list[Any] = [grad for _, grad in found]
        if accumulate_grad:
            engine.backward(roots, grads, keep_graph, create_graph, inputs=list(inputs) or None)
            return None
        return engine.grad(roots, inputs, grads, keep_graph, create_graph, allow_unused=allow_unreachable)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor that tracks gradients."""

    _execution_engine = _Engine()

    def __new__(
        cls,
        data: Tensor | None = None,
        requires_grad: bool = False,
        volatile: bool = False,
        _grad_fn: Any = None,
        name: str | None = None,
    ) -> Any:
        """The data of a tensor as a leaf; an empty one without `data`. `volatile` and `name` do nothing."""
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            return Tensor().requires_grad_(requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
