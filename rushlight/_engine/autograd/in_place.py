"""In-place writes and the graph: through views, gradients stay right.

A write into a view is seen as: the base is a new tensor, equal to the old one except where the
view looks, which holds the written result. CopySlices is the node of that step. All views of the
base then get their nodes anew, by taking the view again of the new base.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import AccumulateGrad, Node, edge, set_apart
from rushlight._engine.core.accelerator import is_away
from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.core.layout import check_apart_from_itself, pointer, shared
from rushlight._engine.tensors.tensor import LISTENING, WRAPPED, Tensor, storage


class ViewStep(NamedTuple):
    """How a view is taken of any tensor that lies like the base. Runners make a plain tuple in this order."""

    kind: Any  # of the view
    again: Callable[..., Any]  # again(base, *rest) takes the view anew; again.heard, if it has that, by ops
    rest: tuple[Any, ...]
    function: Callable[..., Any]  # function(array, *args) is the view of a base's array
    args: tuple[Any, ...]


class View(NamedTuple):
    """What `Tensor._view_of` holds. The hot path writes a plain tuple in this order; others use `view_of`."""

    base: Any  # the tensor that it is a view of
    again: Callable[..., Any] | None  # again(base, *rest) takes the view anew; None where that cannot be
    rest: Any  # where `again` is None: what an in-place write is refused by, a text or the name of the op
    step: Any  # a ViewStep; None where it does not hold for other tensors that lie like the base


def view_of(t: Any) -> View | None:
    """How a tensor was taken as a view; None of one that is no view."""
    found = getattr(t, "_view_of", None)
    return None if found is None else View(*found)


def check_writable(target: Tensor, tracked: bool) -> None:
    """Refuse writes that PyTorch refuses before it looks at the memory: to leaves that require grad, ..."""
    a = target._memory
    if tracked or target._grad_node is not None:
        _check_view(target)
    if LOCAL.enabled and target._grad_node.__class__ is AccumulateGrad:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place "
            "operation. Do it under torch.no_grad(), or on a clone()."
        )
    for t in chain.from_iterable(LOCAL.transforms):
        # Tensors without memory all lie at the same addresses.
        apart = target._kind.on_meta and storage(t) is not storage(target)
        if not apart and np.may_share_memory(t._memory, a):
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
                "in-place operation that would mutate a captured Tensor. This is not supported; please "
                "rewrite the function being transformed to accept the mutated Tensor(s) as inputs."
            )
    refuse_inference(target)


def refuse_inference(target: Tensor) -> None:
    """Refuse to change a tensor of inference mode outside of it."""
    s = target._storage
    if s is not None and s.inference and not LOCAL.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. "
            "You can make a clone to get a normal tensor before doing inplace update."
        )


def refuse_overlap(target: Tensor, values: Sequence[Any]) -> None:
    """Refuse to write to expanded memory, or to some of which an operand reads a part, in another way."""
    check_apart_from_itself(target._geometry)
    refuse_shared(target, values)


def refuse_shared(target: Tensor, values: Sequence[Any], wholly: bool = False) -> None:
    """Refuse to write to memory of which an operand reads a part in another way; wholly: or in the same."""
    for v in values:
        if v.__class__ in (list, tuple):
            refuse_shared(target, v, wholly)
        elif v is target:
            if wholly and v._geometry.size:
                raise _shared_with_input()
        elif isinstance(v, Tensor) and v._storage is not None and v._storage is target._storage:
            a, b = (_reach(t._memory) for t in (target, v))
            same = not wholly and a == b and target._geometry.strides == v._geometry.strides
            if a and b and not same and a[0] < b[1] and b[0] < a[1]:
                raise _shared_with_input()


def _shared_with_input() -> RuntimeError:
    return shared("some elements of the input tensor and the written-to tensor refer")


def _reach(a: Any) -> tuple[int, int] | None:
    """The addresses of dense memory; None for an array with gaps, about which PyTorch does not ask."""
    if a.__class__ is np.ndarray and a.flags.c_contiguous:
        low = pointer(a)
        return (low, low + a.nbytes) if a.size else None
    low, high = np.lib.array_utils.byte_bounds(a.outline() if is_away(a) else a)
    return (low, high) if a.size and high - low == a.nbytes else None


class SplitView:
    """How to take a view again that came with others from one call, of a tensor that was not tracked."""

    __slots__ = ("again",)

    def __init__(self, again: Any) -> None:
        self.again = again

    def __call__(self, base: Any, *args: Any) -> Any:
        return self.again(base, *args)


_SEVERAL = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
)


def _check_view(target: Tensor) -> None:
    if not LOCAL.enabled:
        return
    view, t = view_of(target), target
    while view is not None:
        if t._grad_node.__class__ is AccumulateGrad and t._grad_node.apart is not None:
            _refuse_apart(t._grad_node.apart.mode, target, t)
        if view.again is None and " " in view.rest:
            raise RuntimeError(view.rest)
        if view.again.__class__ is SplitView:
            raise RuntimeError(
                "A view was created in no_grad mode and is being modified inplace with grad "
                f"mode enabled. {_SEVERAL}"
            )
        if view.again is None:
            raise RuntimeError(
                f"Output {t._output_nr} of {view.rest} is a view and is being modified inplace. {_SEVERAL}"
            )
        t = view.base
        view = view_of(t)
    if t is not target and (
        t._grad_node.__class__ is AccumulateGrad or t._grad_node is None is not target._grad_node
    ):
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an "
            "in-place operation. Do it under torch.no_grad(), or on a clone()."
        )


def _refuse_apart(mode: str, target: Tensor, apart: Tensor) -> None:
    if mode:
        what = "A view was"
        if target is not apart and target._grad_node is not None:
            kind = target._grad_node.name().partition("Backward")[0]
            what = f"Output {target._output_nr} of {kind} is a view of a view which was"
        name, normal = (
            (mode, "with grad mode enabled") if mode == "no_grad" else ("inference", "in normal mode")
        )
        raise RuntimeError(
            f"{what} created in {name} mode and is being modified inplace {normal}. Given that this use case "
            "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
            f"view and the inplace either both inside the {mode} block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked)."
        )


def track_view(view: Tensor, base: Tensor, again: Any, args: tuple[Any, ...], step: Any = None) -> None:
    """Note that `view` is again(base, *args), so that writes through it can reach the base; step: see()'s."""
    view._view_of = (base, again, args, step)
    if base._grad_node is not None and not LOCAL.enabled:
        unrecorded(view)
    if (
        base._grad_node.__class__ is not AccumulateGrad
    ):  # no write can ever be recorded through a leaf's views
        remember(view, view._storage)


def unrecorded(view: Tensor) -> None:
    """Of a view of a tensor that requires grad, taken where nothing is recorded: so it requires grad, too."""
    if view._kind.dtype.category >= FLOATING and not view._storage.inference:  # type: ignore[union-attr]
        set_apart(view, "inference_mode" if LOCAL.inference else "no_grad")


def remember(view: Tensor, s: Any) -> None:
    """Let a view's storage know of it."""
    known = s.views
    if known is None:
        s.views = [_reference(view)]
        return
    if len(known) >= s.prune_at:
        known[:] = [r for r in known if r() is not None]
        # Twice what is alive: pruning costs a constant for each view, however many there are.
        s.prune_at = 2 * len(known) + 64
    known.append(_reference(view))


_reference = weakref.ref


class CopySlices(Node):
    """base with the part seen through a chain of views replaced: gradients to both.

    saved: `view_chain`'s chain, and the base's strides, by which it can be followed.
    """

    __slots__ = ()
    release = Node.let_go

    def name(self) -> str:
        """PyTorch's name."""
        return "torch::autograd::CopySlices"

    def apply(self, grad: Any) -> Any:
        """(gradient of the old base, gradient of what was written)."""
        chain, strides = self.saved
        if grad.stride() != strides:
            grad = grad.new_empty_strided(grad.shape, strides).copy_(grad)
        old = None
        if self.next[0] is not None:
            old = grad.clone()
            _seen(old, chain).zero_()
        new = _seen(grad, chain).clone() if self.next[1] is not None else None
        return old, new


def _seen(base: Any, chain: tuple[Any, ...]) -> Any:
    """`replay` as ops of a backward pass, of which those hear who listen below autograd."""
    if LISTENING in WRAPPED:
        chain = tuple([(getattr(again, "heard", again), rest) for again, rest in chain])
    return replay(base, chain)


def replay(base: Any, chain: tuple[Any, ...]) -> Any:
    """Take a chain of views again."""
    for again, args in chain:
        base = again(base, *args)
    return base


def view_chain(view: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
    """(the tensor that is no view, (again, rest) of each view from there to this one)."""
    steps = []
    t = view
    while (found := view_of(t)) is not None:
        steps.append((found.again, found.rest))
        t = found.base
    return t, tuple(reversed(steps))


def switched(base: Tensor) -> None:
    """Let earlier views of a tensor know that it now requires grad as a leaf, or does so no more."""
    for reference in base._storage.views or ():  # type: ignore[union-attr]
        view = reference()
        if view is not None and view is not base and view_chain(view)[0] is base:
            if base._grad_node is None:
                if view._grad_node.__class__ is AccumulateGrad and view._grad_node.apart is not None:
                    view._grad_node = None
            elif view._grad_node is None and view._kind.dtype.category >= FLOATING:
                set_apart(view, "")


def moved(t: Tensor, node: Any, number: int) -> None:
    """Give a tensor another place in the graph; a gradient that it keeps is that of the new place."""
    old = t._grad_node
    t._grad_node, t._output_nr = node, number
    if old is not None and old is not node and t.__dict__.get("_retains_grad"):
        # Here: hooks are loaded by a program that has some.
        from rushlight._engine.autograd.hooks import move_retained

        move_retained(t, old, node, number)


def _hooked(view: Any) -> bool:
    """Whether a view has hooks, or one that it is a view of."""
    while (found := getattr(view, "_view_of", None)) is not None:
        if view._grad_node is not None and view._grad_node.hooks is not None:
            return True
        view = found[0]
    return False


def _pass_by(written: Any, target: Tensor, root: Tensor, chain: tuple[Any, ...]) -> None:
    """Of a write to a view, let the gradient go to the base past the hooks of it and of those that it is a
    view of: they are of what these views were.
    """
    old = target._grad_node
    if written is None or old is None or not _hooked(target) or any(again is None for again, _ in chain):
        return
    anew = edge(replay(root, chain))
    written.next = tuple([anew if e is not None and e[0] is old else e for e in written.next])


def rebase(target: Tensor, result: Tensor) -> None:
    """After a write: `target` (and the base it is a view of) takes `result`'s place in the graph."""
    root, chain = view_chain(target)
    if root is target:
        moved(root, result._grad_node, result._output_nr)
    else:
        _pass_by(result._grad_node, target, root, chain)
        moved(root, CopySlices((edge(root), edge(result)), (chain, root.stride())), 0)
    for reference in list(storage(root).views or ()):  # views that are taken anew are no more to be seen
        view = reference()
        if view is not None and view is not root:
            above, steps = view_chain(view)
            if above is root and all(again is not None for again, _ in steps):
                found = replay(root, steps)
                moved(view, found._grad_node, found._output_nr)
