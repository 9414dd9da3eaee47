"""What a node kept, by PyTorch's names: `node._saved_self`, `node._raw_saved_result`, ...

A name is looked up in the gradient rule's own terms: `self` is the row's `input`, `X_sym_sizes` a shape
without its data, `X_sym_argsize_N` one number of it. Raw ones are `SavedTensor`s, on which a program may put
a pair of hooks of its own: then the node holds what the pack hook gave, as under `saved_tensors_hooks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rushlight._engine.autograd.node import Node, freed
from rushlight._engine.autograd.saved_tensor_hooks import Packed, PackedTensor, pack
from rushlight._engine.autograd.saved_tensors import check_version, reattach
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, VersionedList, saved

_NAME = re.compile(r"_(raw_)?saved_(\w+)")
_SIZES = re.compile(r"(\w+?)_(?:sym_)?(?:sizes(?:_opt)?|argsize_(\d+))")
# PyTorch's names of arguments that have another here.
_OTHER = {"self": ("input",), "exponent": ("other",), "mat1": ("input",)}


class SavedTensor:
    """A tensor that a node keeps for its gradient, as it is held. None can be made by a program."""

    __slots__ = ("_node", "_get", "_put")
    _node: Node
    _get: Callable[[], Any]
    _put: Callable[[Any], None]

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden")

    def register_hooks(self, *hooks: Any) -> None:
        """register_hooks(pack_hook, unpack_hook): hold pack_hook(tensor); the rule gets unpack_hook of that.

        TypeError for anything but two functions; RuntimeError where nothing is held (any more), or hooks are
        there already.
        """
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are "
                "supported:\n"
                "    1. (self: torch._C._autograd.SavedTensor, arg0: Callable, arg1: Callable) -> None"
            )
        if _is_freed(self._node):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
                "of the graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if you need to "
                "access saved variables after calling backward."
            )
        held = self._get()
        if held is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if held.__class__ is PackedTensor:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        t, number = held
        self._put(pack(self._node, t, number, hooks))


def _raw(node: Node, get: Callable[[], Any], put: Callable[[Any], None]) -> SavedTensor:
    made: SavedTensor = object.__new__(SavedTensor)
    made._node, made._get, made._put = node, get, put
    return made


def _is_freed(node: Any) -> bool:
    return node.saved is None or getattr(node, "freed", False)


def _inner(node: Any) -> Any:
    saved = node.saved
    return saved._saved if saved.__class__ is Packed else saved


def look_up(node: Any, attribute: str) -> Any:
    """`node._saved_NAME` or `node._raw_saved_NAME`; AttributeError where the op has no such argument."""
    found = _NAME.fullmatch(attribute)
    if found is None:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}'")
    raw, name = bool(found[1]), found[2]
    if node.saved is None:
        if raw:
            return _raw(node, _nothing, _ignore)
        raise freed()
    ruled = isinstance(_inner(node), Saved)
    way = _of_rule if ruled else _of_formula if hasattr(node, "formula") else _of_items
    value = way(node, name, raw)
    if value is _NONE:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}'")
    return value


_NONE: Any = object()


def _nothing() -> None:
    return None


def _ignore(value: Any) -> None:
    return None


# --- pointwise formulas: (names, [(value, version)], places) ------------------------------------------


def _of_formula(node: Any, name: str, raw: bool) -> Any:
    names, kept, *_ = _inner(node)
    known = (*node.formula.operands, "result")
    own = next((n for n in (name, *_OTHER.get(name, ())) if n in known), None)
    if own is None:
        return _NONE
    place = names.index(own) if own in names else -1
    result = 0 if own == "result" else -1

    def get() -> Any:
        item = _inner(node)[1][place] if place >= 0 else None
        return item if item is None or item.__class__ is PackedTensor else (item[0], result)

    def put(packed: PackedTensor) -> None:
        names, kept, *rest = _inner(node)
        node.saved = Packed((names, [packed if i == place else k for i, k in enumerate(kept)], *rest))

    if raw:
        return _raw(node, get, put)
    if place < 0:
        return None
    item = kept[place]
    if item.__class__ is not PackedTensor and item[1] < 0:
        return item[0]
    return _tensor(node, item, result)


def _tensor(node: Any, item: Any, number: int) -> Any:
    if item is None:
        return None
    if item.__class__ is PackedTensor:
        return item.restore(node, True)
    t = check_version(node, *item)
    return t if number < 0 else reattach(t, node, number)


# --- x[i]: (shape, [(index, version) or None], ...) ---------------------------------------------------


def _of_items(node: Any, name: str, raw: bool) -> Any:
    saved = _inner(node)
    if saved.__class__ is not tuple or len(saved) < 2:
        return _NONE
    if name in ("self_sym_sizes", "self_sizes"):
        return saved[0]
    if name != "indices" or saved[1].__class__ is not list:
        return _NONE
    if not raw:
        return tuple(_tensor(node, item, -1) for item in saved[1])

    def slot(place: int) -> SavedTensor:
        def get() -> Any:
            item = _inner(node)[1][place]
            return item if item is None or item.__class__ is PackedTensor else (item[0], -1)

        def put(packed: PackedTensor) -> None:
            shape, kept, *rest = _inner(node)
            node.saved = Packed((shape, [packed if i == place else k for i, k in enumerate(kept)], *rest))

        return _raw(node, get, put)

    return tuple(map(slot, range(len(saved[1]))))


# --- declared rules: Saved ----------------------------------------------------------------------------


def _of_rule(node: Any, name: str, raw: bool) -> Any:
    saved: Saved = _inner(node)
    if name.startswith("result") and saved._results:
        return _result(node, saved, int(name[6:] or 0) if name[6:].isdigit() or not name[6:] else 0, raw)
    known = {p.name for p in node.rules.row.params}
    own = next((n for n in (name, *_OTHER.get(name, ())) if n in known), None)
    if own is None:
        return _shape(node, saved, name)
    if own in saved._values and not isinstance(saved._values[own], (Versioned, VersionedList, PackedTensor)):
        value = saved._values[own]
        return tuple(value) if isinstance(value, list) else value
    return _argument(node, own, raw) if own in saved._values or own in node.rules.places else _NONE


def _result(node: Any, saved: Saved, number: int, raw: bool) -> Any:
    if number >= len(saved._results[1]):
        return _NONE

    def get() -> Any:
        item = _inner(node)._results[1][number]
        return (item.tensor, number) if isinstance(item, Versioned) else item

    def put(packed: PackedTensor) -> None:
        _change(node, results={number: packed})

    return _raw(node, get, put) if raw else _value(node, saved._results[1][number], number)


def _value(node: Any, item: Any, number: int) -> Any:
    return _tensor(node, (item.tensor, item.version) if isinstance(item, Versioned) else item, number)


def _argument(node: Any, own: str, raw: bool) -> Any:
    item = _inner(node)._values.get(own)
    if isinstance(item, VersionedList):
        if not raw:
            return tuple(
                _value(node, k, -1) if isinstance(k, (Versioned, PackedTensor)) else k for k in item.items
            )
        return tuple(_slot(node, own, place) for place in range(len(item.items)))
    return _slot(node, own, None) if raw else _value(node, item, -1)


def _slot(node: Any, own: str, place: int | None) -> SavedTensor:
    def held() -> Any:
        item = _inner(node)._values.get(own)
        return item if place is None else item.items[place]

    def get() -> Any:
        item = held()
        if isinstance(item, Versioned):
            return item.tensor, -1
        return item if item.__class__ is PackedTensor else None

    def put(packed: PackedTensor) -> None:
        if place is None:
            _change(node, values={own: packed})
        else:
            items = list(_inner(node)._values[own].items)
            items[place] = packed
            _change(node, values={own: VersionedList(items)})

    return _raw(node, get, put)


def _change(node: Any, values: dict[str, Any] | None = None, results: dict[int, Any] | None = None) -> None:
    old: Saved = _inner(node)
    many, kept = old._results or (False, [])
    kept = [(results or {}).get(i, k) for i, k in enumerate(kept)]
    changed = {**old._values, **(values or {})}
    node.saved = Packed(saved(changed, old._shapes, old._kinds, old._results and (many, kept)))


def _shape(node: Any, saved: Saved, name: str) -> Any:
    found = _SIZES.fullmatch(name)
    if found is None:
        return _NONE
    own = next((n for n in (found[1], *_OTHER.get(found[1], ())) if n in node.rules.places), None)
    if own is None:
        return _NONE
    shape = saved._shapes[node.rules.places[own]]
    if found[2] is not None:
        return shape[int(found[2])]
    return (0,) if shape is None and name.endswith("_opt") else shape


# --- a Function's ---------------------------------------------------------------------------------------


def of_function(ctx: Any) -> tuple[SavedTensor, ...]:
    """ctx._raw_saved_tensors."""

    def slot(place: int) -> SavedTensor:
        def get() -> Any:
            item = ctx.saved[place]
            return item if item is None or item.__class__ is PackedTensor else (item[0], item[2])

        def put(packed: PackedTensor) -> None:
            ctx.saved[place] = packed

        return _raw(ctx, get, put)

    return tuple(map(slot, range(len(ctx.saved))))


def names_of(node: Any) -> list[str]:
    """What dir(node) tells of what it kept."""
    saved = _inner(node)
    own: Any = (getattr(node, "formula", None) and node.formula.operands) or ()
    own = saved._values if isinstance(saved, Saved) else own
    if (isinstance(saved, Saved) and saved._results) or (
        saved.__class__ is tuple and saved and "result" in saved[0]
    ):
        own = (*own, "result")
    spelled = ["self" if n == "input" else n for n in own]
    return [f"_{raw}saved_{n}" for n in spelled for raw in ("", "raw_")]


__all__ = ["SavedTensor", "look_up", "names_of", "of_function"]
