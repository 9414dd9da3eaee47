"""A node of a graph: what is called, with what, and who uses the result."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rushlight.fx import names
from rushlight.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:  # a graph makes nodes
    from rushlight.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]
# Functions that nodes stay for, though nobody reads them.
_side_effectful_functions: set[Callable[..., Any]] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Say that calls of a function do something besides what they give: eliminate_dead_code() keeps them."""
    _side_effectful_functions.add(fn)
    return fn


# PyTorch's private name, which programs that work on graphs use.
_get_qualified_name = names.qualified
Target = Any
Argument = Any
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")


CONTAINERS = (tuple, list, dict, slice)


def rebuilt(a: Any, fn: Callable[[Any], Any]) -> Any:
    """One of CONTAINERS with fn(item) for its items."""
    if isinstance(a, tuple):
        return type(a)(*map(fn, a)) if hasattr(a, "_fields") else tuple(map(fn, a))
    if isinstance(a, list):
        return immutable_list(map(fn, a))
    if isinstance(a, dict):
        return immutable_dict((key, fn(item)) for key, item in a.items())
    return slice(*map(fn, (a.start, a.stop, a.step)))


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`a` with fn(leaf) for what lists, tuples, dicts and slices in it hold."""
    return rebuilt(a, lambda item: map_aggregate(item, fn)) if isinstance(a, CONTAINERS) else fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """`a` with fn(node) for the nodes in it."""
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


class Node:
    """One step: `op` says which kind (placeholder, get_attr, call_function, call_module, call_method,
    output), `target` what is called, `args` and `kwargs` with what; `users` are the nodes that read it.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op '{op}' not in {OPS}")
        wanted, fits = (
            ("Callable", callable(target)) if op == "call_function" else ("str", isinstance(target, str))
        )
        if not fits:
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target)} but a {wanted} is expected"
            )
        self.graph, self._name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._erased = False
        self._update(args, kwargs)

    @property
    def name(self) -> str:
        """What the node is called in the graph's text; who hears of replaced nodes hears of a new name."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        hooks = getattr(self.graph.owning_module, "_replace_hooks", ())
        for hook in hooks:
            for user in list(self.users):
                hook(old=self, new=value, user=user)
        self._name = value

    def _rename(self, candidate: str) -> None:
        """Call the node by this name, or one like it that is free in the graph."""
        if candidate != self.name:
            self.name = self.graph._namespace.create_name(candidate)

    # --- arguments -------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; assigning them tells the nodes in them."""
        return self._args

    @args.setter
    def args(self, value: Any) -> None:
        self._update(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments; assigning them tells the nodes in them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: Any) -> None:
        self._update(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that this one reads, each once, in order."""
        return list(self._inputs)

    def _update(self, args: Any, kwargs: Any) -> None:
        for old in self._inputs:
            old.users.pop(self, None)
        self._inputs = {}

        def seen(node: Node) -> Node:
            self._inputs[node] = None
            node.users[self] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), seen), map_arg(dict(kwargs), seen)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Put `arg` into that place of `args`."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put `arg` before that place of `args`. AssertionError for a place outside of them."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Put `arg` under that keyword."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` wherever `old_input` was read."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._update(*map_arg((self.args, self.kwargs), lambda n: new_input if n is old_input else n))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users read `replace_with` instead, those for which delete_user_cb(user); gives them
        back.
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    # --- its place -------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one in the graph's order."""
        return self.graph._beside(self, 1)

    @property
    def prev(self) -> Node:
        """The node before this one in the graph's order."""
        return self.graph._beside(self, -1)

    def prepend(self, x: Node) -> None:
        """Move `x` to right before this node."""
        self.graph._move(x, self, 0)

    def append(self, x: Node) -> None:
        """Move `x` to right after this node."""
        self.graph._move(x, self, 1)

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay though nobody reads it: inputs, the output, writes, modules that do that."""
        if self.op in ("placeholder", "output"):
            return True
        name = names.name_of(self.target)
        if self.op == "call_function" and (
            self.target in _side_effectful_functions or getattr(self.target, "_has_effect", False)
        ):
            return True
        if self.op == "call_function" and hasattr(self.target, "_schema"):
            return bool(self.target._schema.writes) or self.target._schema.op_name.startswith("_assert")
        if self.op == "call_function":
            return name in ("setitem", "_assert", *names.INPLACE)
        return self.op == "call_module" and bool(
            getattr(self.graph._module(self.target), "_is_impure", False)
        )

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """(args, kwargs) by the signature of what is called, with its defaults; None where that is not known.

        root: the module that holds called modules; arg_types, kwarg_types: where several overloads fit.
        """
        # it loads PyTorch's schemas
        from rushlight.fx import operator_schemas

        by_keyword = normalize_to_only_use_kwargs
        if self.op == "call_function":
            return operator_schemas.normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, by_keyword
            )
        if self.op == "call_module":
            return operator_schemas.normalize_module(root, self.target, self.args, self.kwargs, by_keyword)
        return None

    @property
    def stack_trace(self) -> str | None:
        """Where the program did this, as a traceback's lines."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # --- text ------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.name

    def _target_text(self) -> str:
        if isinstance(self.target, str):
            return self.target
        name = getattr(self.target, "__name__", "")
        if getattr(builtins, name, None) is self.target:
            return f"builtins.{name}"
        return re.sub(r"^_operator\b", "operator", names.qualified(self.target))

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """The node as a line of `print(graph)`."""
        if self.op == "output":
            return f"return {self.args[0]}"
        typed = f"{names.typename(self.type)} " if self.type is not None else ""
        text = (
            f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self._target_text()}]"
        )
        if self.op == "placeholder":
            return text + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return text
        return f"{text}(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as a line of a graph shows it, with at most max_list_len items of lists and tuples."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)) and len(arg) > max_list_len:
        items = ", ".join(_format_arg(item) for item in arg[: int(max_list_len)])
        text = f"{items}, ...[total_len={len(arg)}]"
        return f"[{text}]" if isinstance(arg, list) else f"({text})"
    return _shown(arg)


def _shown(a: Any) -> str:
    if hasattr(a, "_custom_fx_repr_fn"):
        return str(a._custom_fx_repr_fn())
    if isinstance(a, list):
        return f"[{', '.join(map(_shown, a))}]"
    if isinstance(a, tuple):
        return f"({', '.join(map(_shown, a))}{',' * (len(a) == 1)})"
    if isinstance(a, dict):
        return f"{{{', '.join(f'{key}: {_shown(item)}' for key, item in a.items())}}}"
    return f"%{a}" if isinstance(a, Node) else str(a)
