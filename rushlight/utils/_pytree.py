"""torch.utils._pytree: trees of containers, and types that programs add to these."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from importlib import import_module
from types import UnionType
from typing import Any, NamedTuple, Protocol

from rushlight._engine.core.pytree import LEAF, NODES, Node, Tree, broadcast, flatten, kind_of, tree_map

SUPPORTED_NODES, TreeSpec, PyTreeSpec, tree_flatten, NodeDef = NODES, Tree, Tree, flatten, Node
PyTree = Context = DumpableContext = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]
ToDumpableContextFn = FromDumpableContextFn = Callable[[Any], Any]
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
_LEAF_SPEC = LEAF
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
_dict_flatten, _dict_unflatten = NODES[dict][:2]
_list_flatten, _list_unflatten = NODES[list][:2]
_tuple_flatten, _tuple_unflatten = NODES[tuple][:2]
_namedtuple_flatten, _namedtuple_unflatten = NODES[namedtuple][:2]


class LeafSpec(Tree):
    """The structure of what is no container."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _get_node_type(tree: Any) -> Any:
    """The type under which SUPPORTED_NODES knows a value, or would."""
    return kind_of(tree) or type(tree)


def _is_namedtuple_instance(tree: Any) -> bool:
    return _get_node_type(tree) is namedtuple


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a named tuple, or the class of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


is_namedtuple_instance = _is_namedtuple_instance


def is_namedtuple_class(cls: type) -> bool:
    """Whether it is the class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


# --- places in a tree -------------------------------------------------------------------------------


class KeyEntry(Protocol):
    """A step from a container to one of its children."""

    def get(self, parent: Any) -> Any:
        """The child."""


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What stands there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What it is mapped to."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute."""
        return getattr(obj, self.name)


def _dict_flatten_with_keys(value: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(key), item) for key, item in value.items()], list(value)


def _sequence_flatten_with_keys(value: Any) -> tuple[list[tuple[SequenceKey, Any]], Any]:
    items, context = NODES[kind_of(value)].flatten_fn(value)
    return [(SequenceKey(i), item) for i, item in enumerate(items)], context


_list_flatten_with_keys = _tuple_flatten_with_keys = _deque_flatten_with_keys = _sequence_flatten_with_keys
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _defaultdict_flatten_with_keys(value: Any) -> tuple[list[tuple[MappingKey, Any]], Any]:
    return _dict_flatten_with_keys(value)[0], NODES[defaultdict].flatten_fn(value)[1]


def _namedtuple_flatten_with_keys(value: Any) -> tuple[list[tuple[GetAttrKey, Any]], Any]:
    return [(GetAttrKey(name), item) for name, item in zip(value._fields, value, strict=True)], type(value)


for _kind, _with_keys in (
    (list, _sequence_flatten_with_keys),
    (tuple, _sequence_flatten_with_keys),
    (deque, _sequence_flatten_with_keys),
    (dict, _dict_flatten_with_keys),
    (OrderedDict, _dict_flatten_with_keys),
    (defaultdict, _defaultdict_flatten_with_keys),
    (namedtuple, _namedtuple_flatten_with_keys),
):
    NODES[_kind] = NODES[_kind]._replace(flatten_with_keys_fn=_with_keys)


def _keyed(
    path: tuple[Any, ...],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None,
    found: list[tuple[tuple[Any, ...], Any]],
) -> None:
    kind = kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        found.append((path, tree))
        return
    with_keys = NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        _keyed((*path, key), child, is_leaf, found)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """(path, leaf) of all leaves: a path is a tuple of keys."""
    found: list[tuple[tuple[Any, ...], Any]] = []
    _keyed((), tree, is_leaf, found)
    return found


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Tree]:
    """([(path, leaf), ...], structure)."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """tree_map of func(path, leaf, ...)."""
    keyed, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [
        [path for path, _ in keyed],
        [leaf for _, leaf in keyed],
        *[spec.flatten_up_to(r) for r in rests],
    ]
    return spec.unflatten(map(func, *columns))


def keystr(kp: Iterable[Any]) -> str:
    """A path as Python writes it: "['a'][0].x"."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What lies at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- types that programs add ------------------------------------------------------------------------


class _SerializeNodeDef(NamedTuple):
    """What a type and its context are called in a file."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: Callable[[Any], Any] | None
    from_dumpable_context: Callable[[Any], Any] | None


def _defaultdict_serialize(context: Any) -> dict[str, Any]:
    return {
        "default_factory_module": context[0].__module__,
        "default_factory_name": context[0].__qualname__,
        "dict_context": context[1],
    }


def _defaultdict_deserialize(described: Any) -> list[Any]:
    return [
        getattr(import_module(described["default_factory_module"]), described["default_factory_name"]),
        described["dict_context"],
    ]


def _namedtuple_serialize(context: Any) -> str:
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    name = SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name
    if name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {context} found. Please update your "
            "_register_namedtuple call with a `serialized_type_name` kwarg."
        )
    return name


def _namedtuple_deserialize(name: str) -> Any:
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {
    kind: _SerializeNodeDef(kind, f"{kind.__module__}.{kind.__qualname__}", None, None)
    for kind in (tuple, list, dict, OrderedDict, deque)
}
SUPPORTED_SERIALIZED_TYPES[defaultdict] = _SerializeNodeDef(
    defaultdict, "collections.defaultdict", _defaultdict_serialize, _defaultdict_deserialize
)
SUPPORTED_SERIALIZED_TYPES[namedtuple] = _SerializeNodeDef(
    namedtuple, "collections.namedtuple", _namedtuple_serialize, _namedtuple_deserialize
)
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {
    described.serialized_type_name: kind for kind, described in SUPPORTED_SERIALIZED_TYPES.items()
}
CONSTANT_NODES: set[type] = set()


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: Any,
    unflatten_fn: Any,
    *,
    serialized_type_name: Any = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    NODES[cls] = Node(flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if (to_dumpable_context is None) ^ (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    if serialized_type_name is None:
        serialized_type_name = NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(
        cls, serialized_type_name, to_dumpable_context, from_dumpable_context
    )
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """From now on `cls` is a container: flatten_fn(it) gives (children, context), and unflatten_fn(children,
    context) makes one; flatten_with_keys_fn gives (key, child) instead of children. The others are for files:
    what the type is called there, and its context as JSON and back. ValueError if it was one already.
    """
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


_register_pytree_node = register_pytree_node


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """What a class of named tuples, which are containers anyway, is called in files."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _deregister_pytree_node(cls: type) -> None:
    """`cls` is a leaf again."""
    NODES.pop(cls)
    described = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(described.serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """From now on instances of a dataclass are containers of their fields; those that are None are no
    children.

    field_names: the fields, of dataclasses all that __init__ takes. drop_field_names: those that are left out
    and take their defaults again. ValueError for names that do not fit.
    """
    drop = drop_field_names or []
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
    elif field_names is None:
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    else:
        known = {f.name for f in dataclasses.fields(cls) if f.init}
        given = set(field_names)
        if missing := known - given - set(drop):
            raise ValueError(
                f"Dataclass fields must be specified in `field_names` or `drop_field_names`, missing "
                f"{sorted(missing)} of {cls}."
            )
        if unexpected := given - known:
            raise ValueError(f"Unexpected field(s) in `field_names` of {cls}: {sorted(unexpected)}.")
    names = [name for name in field_names if name not in drop]

    def parts(obj: Any) -> tuple[list[str], list[str]]:
        present = [name for name in names if getattr(obj, name) is not None]
        return present, [name for name in names if name not in present]

    def flat(obj: Any) -> tuple[list[Any], Any]:
        present, absent = parts(obj)
        return [getattr(obj, name) for name in present], [present, absent]

    def keyed(obj: Any) -> tuple[list[tuple[GetAttrKey, Any]], Any]:
        items, context = flat(obj)
        return [(GetAttrKey(name), item) for name, item in zip(context[0], items, strict=True)], context

    def build(items: Iterable[Any], context: Any) -> Any:
        return cls(**dict(zip(context[0], items, strict=True)), **dict.fromkeys(context[1]))

    _private_register_pytree_node(
        cls,
        flat,
        build,
        serialized_type_name=serialized_type_name or f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=keyed,
    )


class ConstantNode(NamedTuple):
    """The context of a constant: what is compared is the object itself."""

    value: Any


def register_constant(cls: type) -> None:
    """From now on instances of `cls` are containers without children, compared by their __eq__ and __hash__,
    which the class must define (TypeError).
    """
    equality: Any = cls.__eq__
    if equality is object.__eq__:
        raise TypeError(
            f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation. {cls}"
        )
    if cls.__hash__ is None:
        raise TypeError(
            f"register_constant(cls) expects `cls` to have a non-default `__hash__` implementation. {cls}"
        )

    def flat(obj: Any) -> tuple[list[Any], Any]:
        return [], ConstantNode(obj)

    _private_register_pytree_node(cls, flat, lambda items, context: context.value, flatten_with_keys_fn=flat)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether register_constant was told of it."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# --- trees ------------------------------------------------------------------------------------------


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether it is no container."""
    return (is_leaf is not None and is_leaf(tree)) or kind_of(tree) is None


_is_leaf = tree_is_leaf


def _of_structure(treespec: Any) -> Tree:
    if not isinstance(treespec, Tree):
        raise TypeError(
            f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    return treespec


def tree_unflatten(leaves: Iterable[Any], treespec: Tree) -> Any:
    """The structure with these leaves."""
    return _of_structure(treespec).unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order."""
    return flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """The leaves, one after the other."""
    return iter(flatten(tree, is_leaf)[0])


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Tree:
    """The structure without the leaves."""
    return flatten(tree, is_leaf)[1]


def tree_map_(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """func(leaf, ...) of each leaf, for what it does; gives the tree itself."""
    leaves, spec = flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]), maxlen=0)
    return tree


def _fitting(
    wanted: type | tuple[type, ...] | UnionType | Callable[[Any], bool],
) -> Callable[[Any], bool]:
    """Whether a leaf is of these types, or what a function says of it; TypeError for other things."""
    if isinstance(wanted, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, wanted)
    if callable(wanted):
        return wanted
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: the function is called with leaves of these types only; others stay."""
    fits = _fitting(type_or_types_or_pred)

    def wrapper(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: func(leaf) if fits(leaf) else leaf

    return wrapper


def tree_map_only(
    type_or_types_or_pred: Any,
    func: Callable[[Any], Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """tree_map that leaves alone what is not of these types, or what the function says no to."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    func: Callable[[Any], Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """tree_map_ of the leaves that are of these types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether it holds of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether it holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any,
    /,
    pred: Callable[[Any], bool],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> bool:
    """Whether it holds of all leaves of these types."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Any,
    /,
    pred: Callable[[Any], bool],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> bool:
    """Whether it holds of a leaf of these types."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(tree: Any, treespec: Tree, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """One item for each leaf of the structure, of a tree that may stop higher up; None where it does not
    fit.
    """
    return broadcast(tree, treespec)


# --- structures -------------------------------------------------------------------------------------


def treespec_leaf() -> Tree:
    """The structure of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[Tree] = (), /) -> Tree:
    """The structure of a tuple."""
    return Tree(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: Tree) -> Tree:
    """The structure of a dict."""
    found = dict(mapping, **kwargs)
    return Tree(dict, list(found), list(found.values()))


def treespec_pprint(treespec: Tree) -> str:
    """The structure as a container of asterisks."""

    class Asterisk(str):
        __slots__ = ()

        def __repr__(self) -> str:
            return "*"

    return repr(tree_unflatten([Asterisk()] * treespec.num_leaves, treespec))


def _described(spec: Tree) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a "
                "custom serializer using _register_pytree_node."
            ) from error
    return {
        "type": known.serialized_type_name,
        "context": context,
        "children_spec": [_described(child) for child in spec.children_specs],
    }


def treespec_dumps(treespec: Tree, protocol: int | None = None) -> str:
    """The structure as JSON; ValueError for a protocol other than 1, NotImplementedError for types without a
    name.
    """
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    described = _described(_of_structure(treespec))
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps((protocol, described))


def treespec_loads(serialized: str) -> Tree:
    """The structure that treespec_dumps told."""
    protocol, described = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _structure(described)


def _structure(described: dict[str, Any]) -> Tree:
    name = described["type"]
    if name is None:
        return LEAF
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    context = json.loads(described["context"]) if read is None else read(described["context"])
    return Tree(kind, context, [_structure(child) for child in described["children_spec"]])


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of arguments."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in flatten(value)[0]]
