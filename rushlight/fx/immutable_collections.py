"""The lists and dicts among a node's arguments, which nobody may change unseen."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from rushlight.utils import _pytree

__all__ = ["immutable_dict", "immutable_list"]
_T = TypeVar("_T")
_KT = TypeVar("_KT")
_VT = TypeVar("_VT")


def _no_mutation(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the "
        "kwargs or args of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to "
        "the node:\n\n    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list[_T]):
    """A list that refuses changes with TypeError, and can be hashed."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = _no_mutation
    pop = remove = reverse = sort = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[_KT, _VT]):
    """A dict that refuses changes with TypeError, and can be hashed."""

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)


_pytree.register_pytree_node(
    immutable_list,
    lambda found: (list(found), None),
    lambda values, context: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
)
_pytree.register_pytree_node(
    immutable_dict,
    lambda found: (list(found.values()), list(found)),
    lambda values, context: immutable_dict(zip(context, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
)
