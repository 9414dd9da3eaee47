"""Saved-tensor hooks: what nodes keep passes through a pair of functions of the user's.

Nodes record as ever; with hooks in place a listener then looks at each new node and puts a `Packed` in
the place of what it saved, which the engine opens again before it runs the node's rule. So recording
costs nothing more where there are no hooks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL, no_grad
from rushlight._engine.autograd.node import TRACES, Node
from rushlight._engine.autograd.saved_tensors import reattach
from rushlight._engine.core.recording import escape
from rushlight._engine.tensors.tensor import Tensor, storage

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class _Local(threading.local):
    refusal: str | None = None
    waiting: list[Node] | None = None  # nodes that are packed once they keep what they are to keep

    def __init__(self) -> None:
        self.stack: list[Hooks] = []


HOOKS = _Local()


def packing() -> bool:
    """Whether what nodes keep passes through a program's functions now, a checkpoint's among them."""
    return bool(HOOKS.stack)


def push(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
    """Put a pair of hooks in this thread's place; RuntimeError where they are disabled."""
    if HOOKS.refusal is not None:
        raise RuntimeError(HOOKS.refusal)
    if not (callable(pack) and callable(unpack)):
        raise TypeError(
            "saved_tensors_hooks(): incompatible function arguments: expected pack_hook and "
            f"unpack_hook to be callable, got {type(pack).__name__} and {type(unpack).__name__}"
        )
    HOOKS.stack.append((pack, unpack))
    TRACES.add(_pack_node)


def enabled() -> bool:
    """Whether pairs of hooks may be put in place."""
    return HOOKS.refusal is None


def refuse(error_message: str, fail_if_non_empty: bool = True) -> None:
    """Let push() raise RuntimeError(error_message), and this too where a pair is in place."""
    if HOOKS.stack and fail_if_non_empty:
        raise RuntimeError(error_message)
    HOOKS.refusal = error_message


def allow() -> None:
    """Let push() work again."""
    HOOKS.refusal = None


def refusal() -> str | None:
    """What push() would raise; None where it works."""
    return HOOKS.refusal


def pop() -> None:
    """Take the innermost pair away."""
    HOOKS.stack.pop()
    TRACES.remove(_pack_node)


class PackedTensor:
    """A kept tensor as the pack hook left it, and its place in the graph."""

    __slots__ = ("_value", "_unpack", "_edge", "_number")

    def __init__(
        self, value: Any, unpack: Callable[[Any], Tensor], edge: tuple[Any, int], number: int
    ) -> None:
        self._value, self._unpack, self._edge, self._number = value, unpack, edge, number

    def restore(self, node: Node, attached: bool = False) -> Tensor:
        """What the unpack hook makes of it, where the kept tensor stood in the graph of `node`; a result of
        the node itself only where that is recorded, or if it is to be `attached`.
        """
        _tell(self._unpack)
        found = self._unpack(self._value)
        if not isinstance(found, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(found).__name__}"
            )
        own = self._number >= 0 and (LOCAL.enabled or attached)
        return reattach(found, *((node, self._number) if own else self._edge))


def only_repeats(hook: Any) -> Any:
    """Say of a hook that it does nothing but run ops again, as activation checkpointing's do."""
    hook.only_repeats = True
    return hook


def _tell(hook: Any) -> None:
    """A hook of a program's own is Python."""
    if not hasattr(hook, "only_repeats"):
        escape("a saved-tensor hook runs")


def pack(node: Node, t: Tensor, number: int, hooks: Any = None) -> PackedTensor:
    """Hand a tensor that `node` keeps to a pack hook, the innermost or one of a pair of its own.

    number: which result of the node it is, or -1.
    """
    hook, unpack = hooks or HOOKS.stack[-1]
    _tell(hook)
    given = t if number < 0 else reattach(t, node, number)
    version = storage(given).version
    with no_grad():
        value = hook(given)
    if storage(given).version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as "
            "input to pack hook cannot be modified by in-place operations as this can lead to "
            "unexpected side-effects. Write to a clone() of it instead."
        )
    if value is given and number >= 0:
        given._grad_node, given._output_nr = None, 0  # a node that holds its own result would be a cycle
    return PackedTensor(value, unpack, (None, 0) if number >= 0 else (t._grad_node, t._output_nr), number)


class Packed:
    """Stands for a node's `saved` whose tensors are packed."""

    __slots__ = ("_saved",)

    def __init__(self, saved: Any) -> None:
        self._saved = saved

    def tensors(self) -> bool:
        """Whether tensors are kept."""
        saved = self._saved
        return bool(saved[1]) if saved.__class__ is tuple else saved.tensors()

    def opened(self, node: Node) -> Any:
        """What the node's rule needs, unpacked."""
        saved = self._saved
        if saved.__class__ is tuple:
            return saved[0], [_kept(k, node) for k in saved[1]], *saved[2:]
        return saved.opened(PackedTensor, node)


def _kept(item: Any, node: Node) -> Any:
    if item.__class__ is not PackedTensor:
        return item
    t = item.restore(node)
    return t, 0 if t._storage is None else t._storage.version


@contextmanager
def once_complete() -> Iterator[None]:
    """Nodes made in here are packed at its end: until then what they keep may be replaced."""
    if not HOOKS.stack:
        yield
        return
    before, HOOKS.waiting = HOOKS.waiting, []
    try:
        yield
    finally:
        made, HOOKS.waiting = HOOKS.waiting, before
    for node in made:
        _pack_node(node)


def _pack_node(node: Node) -> None:
    """Listener for new nodes: pack what this one saved."""
    if not HOOKS.stack:
        return  # another thread's hooks
    if HOOKS.waiting is not None:
        HOOKS.waiting.append(node)
        return
    saved: Any = getattr(node, "saved", None)
    if hasattr(saved, "packed"):
        node.settle()  # its overload is known by what it saved
        node.saved = Packed(saved.packed(lambda t, number: pack(node, t, number)))
    elif saved.__class__ is tuple and len(saved) > 1 and saved[1].__class__ is list:
        # Formulas: (names, [(tensor, version) or (number, -1)], places); x[i]: (shape, [(index, version)]).
        names = saved[0] if len(saved) == 3 else ()
        node.saved = Packed(
            (
                saved[0],
                [
                    k
                    if k is None or k[1] < 0
                    else pack(node, k[0], 0 if names[i : i + 1] == ("result",) else -1)
                    for i, k in enumerate(saved[1])
                ],
                *saved[2:],
            )
        )
