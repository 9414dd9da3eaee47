"""Checks the shapes of a traced program whose types are known in part, and finds what follows from them.

A node's type is Dyn, where nothing is known, or a TensorType. `GraphTypeChecker` gives each node the most
precise type that follows forwards; `Refine` collects which sizes are equal, for `unify_refinements`.
"""

from __future__ import annotations

import importlib
import itertools
import operator
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import rushlight as torch
from rushlight.fx.experimental.refinement_types import Equality
from rushlight.fx.experimental.unification import Var
from rushlight.fx.node import Node, map_arg
from rushlight.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise

__all__ = [
    "GraphTypeChecker",
    "Refine",
    "adaptiveavgpool2d_check",
    "adaptiveavgpool2d_inference_rule",
    "add_inference_rule",
    "all_eq",
    "bn2d_inference_rule",
    "broadcast_types",
    "calculate_out_dimension",
    "conv2d_inference_rule",
    "conv_refinement_rule",
    "conv_rule",
    "element_wise_eq",
    "expand_to_tensor_dim",
    "first_two_eq",
    "flatten_check",
    "flatten_inference_rule",
    "flatten_refinement_rule",
    "get_attr_inference_rule",
    "get_greatest_upper_bound",
    "get_parameter",
    "linear_check",
    "linear_inference_rule",
    "linear_refinement_rule",
    "maxpool2d_check",
    "maxpool2d_inference_rule",
    "register_algebraic_expressions_inference_rule",
    "register_inference_rule",
    "register_refinement_rule",
    "relu_inference_rule",
    "reshape_inference_rule",
    "transpose_inference_rule",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_Rules = dict[Any, Callable[..., Any]]

_INFERENCE_RULES: _Rules = {}  # function, or class of a module -> what gives the node its type
_REFINEMENT_RULES: _Rules = {}  # ... -> what says which sizes are equal
_RULES: _Rules = {}  # ... -> what gives the node sizes that are expressions of other sizes


def _registration(rules: _Rules, what: str, target: Any) -> Callable[[_F], _F]:
    def register(fn: _F) -> _F:
        if target in rules:
            raise RuntimeError(f"{what} already registered for {target}!")
        rules[target] = fn
        return fn

    return register


def register_inference_rule(call_target: Any) -> Callable[[_F], _F]:
    """Decorator: this function gives nodes that call `call_target` their types."""
    return _registration(_INFERENCE_RULES, "Inference rule", call_target)


def register_refinement_rule(call_target: Any) -> Callable[[_F], _F]:
    """Decorator: this function says which sizes of nodes that call `call_target` are equal."""
    return _registration(_REFINEMENT_RULES, "Refinement rule", call_target)


def register_algebraic_expressions_inference_rule(call_target: Any) -> Callable[[_F], _F]:
    """Decorator: this function computes sizes of nodes that call `call_target` from symbols."""
    return _registration(_RULES, "Rule", call_target)


# --- types ------------------------------------------------------------------------------------------


def expand_to_tensor_dim(t: Any, n: int) -> TensorType:
    """The type as one of `n` dims. TypeError where it is another's."""
    if t == Dyn:
        return TensorType((Dyn,) * n)
    if not isinstance(t, TensorType):
        raise TypeError(f"Cannot match the type {t}")
    if len(t.dims) != n:
        raise TypeError(f"Cannot extend tensor. Tensor {t} has rank {len(t.dims)}. It should have rank {n}")
    return t


def broadcast_types(t1: Any, t2: Any) -> tuple[Any, Any]:
    """Both types after broadcasting them to each other, as far as they are known."""
    if t1 == Dyn or t2 == Dyn or isinstance(t1, Var) or isinstance(t2, Var):
        return t1, t2
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        raise TypeError(f"Cannot broadcast types {t1} and {t2}")
    rank = max(len(t1.dims), len(t2.dims))
    left = [1] * (rank - len(t1.dims)) + list(t1.dims)
    right = [1] * (rank - len(t2.dims)) + list(t2.dims)
    for i, (x, y) in enumerate(zip(left, right, strict=True)):
        if x == 1:
            left[i] = y
        elif y == 1:
            right[i] = x
    return TensorType(tuple(left)), TensorType(tuple(right))


def get_greatest_upper_bound(type1: Any, type2: Any) -> Any:
    """The most precise type that both say something of. TypeError where they contradict each other."""
    if type1 == Dyn:
        return type2
    if type2 == Dyn:
        return type1
    if not (isinstance(type1, TensorType) and isinstance(type2, TensorType)):
        return None
    if not is_consistent(type1, type2):
        raise TypeError(f"Inconsistent types {type1}, {type2}")
    pairs = zip(type1.dims, type2.dims, strict=True)
    return TensorType(tuple(x if is_more_precise(x, y) else y for x, y in pairs))


def _input(n: Node, number: int = 0) -> Node:
    """The node that is this argument."""
    given = n.args[number]
    if not isinstance(given, Node):
        raise AssertionError(f"Expected Node, got {type(given)}")
    return given


def _integer(n: Node, number: int, default: int | None = None) -> int:
    """The number that is this argument."""
    if len(n.args) <= number and default is not None:
        return default
    given = n.args[number]
    if not isinstance(given, int):
        raise AssertionError(f"Expected int, got {type(given)}")
    return given


def _from_input(n: Node, rule: Callable[[TensorType], TensorType]) -> Any:
    """Give a node what the rule makes of its input's type, and what was said of it before."""
    given = _input(n)
    if given.type == Dyn and isinstance(n.type, TensorType):
        given.type = expand_to_tensor_dim(Dyn, len(n.type.dims))
    if isinstance(given.type, TensorType):
        n.type = get_greatest_upper_bound(rule(given.type), n.type)
    return n.type


# --- what a call makes of types ---------------------------------------------------------------------


@register_inference_rule(torch.add)
@register_inference_rule(operator.add)
def add_inference_rule(n: Node) -> Any:
    """A sum's type is the less precise one of its operands, after broadcasting."""
    one, other = _input(n, 0), _input(n, 1)
    for number, tensor in ((one, other), (other, one)):
        if number.type is int and isinstance(tensor.type, TensorType):
            n.type = tensor.type
            return n.type
    left, right = broadcast_types(one.type, other.type)
    n.meta["broadcast"] = left != one.type or right != other.type
    if n.meta["broadcast"]:
        n.meta[str(one)], n.meta[str(other)] = left, right
    if not is_consistent(left, right):
        raise TypeError(
            f"Cannot add arguments {one} ({one.type}) and {other} ({other.type}) in node {n}."
            f" Types should match "
        )
    n.type = right if is_more_precise(left, right) else left
    return n.type


@register_inference_rule(getattr)
def get_attr_inference_rule(n: Node, traced: Any) -> Any:
    """Nothing is known of a shape as a value; other attributes are not known."""
    if n.args[1] != "shape":
        raise TypeError("Not yet implemented")
    n.type = Dyn
    return n.type


@register_inference_rule(torch.transpose)
def transpose_inference_rule(n: Node) -> Any:
    """Two dims change places; both must be there, and not be counted from the end."""
    given = _input(n).type
    first, second = _integer(n, 1), _integer(n, 2)
    if given == Dyn:
        n.type = Dyn
        return n.type
    if not (isinstance(given, TensorType) and all(0 <= d < len(given.dims) for d in (first, second))):
        raise TypeError(f"Cannot transpose {first} and {second} in type {given} for node {n}")
    dims = list(given.dims)
    dims[first], dims[second] = dims[second], dims[first]
    n.type = get_greatest_upper_bound(n.type, TensorType(dims))
    return n.type


@register_inference_rule(torch.reshape)
def reshape_inference_rule(n: Node) -> TensorType:
    """The shape that is asked for. The number of known elements must divide it, or the other way round."""
    given, wanted = _input(n).type, n.args[1]
    if not isinstance(wanted, list):
        raise AssertionError(f"Expected list, got {type(wanted)}")
    sizes: list[Any] = list(wanted)
    found = TensorType([Dyn if size == -1 else size for size in sizes])
    if given != Dyn:
        fits = isinstance(given, TensorType)
        if fits:
            have, want = prod(1 if size == Dyn else size for size in given.dims), prod(sizes)
            fits = have % want == 0 or want % have == 0
        if not fits:
            raise TypeError(f"Cannot reshape in node {n} from {given} to {found}")
    n.type = found
    return found


@register_inference_rule(torch.nn.BatchNorm2d)
def bn2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """Four dims before and behind it, the same ones, and as many channels as the module has."""
    given = _input(n)
    given.type = before = expand_to_tensor_dim(given.type, 4)
    n.type = behind = expand_to_tensor_dim(n.type, 4)
    channels = module_instance.num_features
    if not (
        is_consistent(before.dims[1], channels)
        and is_consistent(behind.dims[1], channels)
        and is_consistent(before, behind)
    ):
        raise TypeError(
            f"Cannot apply {module_instance} with input type {before} and existing type {n.type} on {n}"
        )
    n.type = get_greatest_upper_bound(before, behind)
    return n.type


def calculate_out_dimension(d_in: Any, module_instance: Any, index: int) -> Any:
    """The size that a convolution's or pool's window leaves of a size: a number, Dyn or an expression."""
    if d_in == Dyn:
        return Dyn
    if not isinstance(d_in, int) and type(d_in).__module__.partition(".")[0] != "sympy":
        raise TypeError(f"{d_in} in {module_instance} must be a number or Dyn. Received {type(d_in)}")
    options = [getattr(module_instance, o) for o in ("padding", "kernel_size", "stride", "dilation")]
    pairs = [(given, given) if isinstance(given, int) else given for given in options]
    padding, kernel, _, dilation = (pair[index] for pair in pairs)
    return (d_in + 2 * padding - dilation * (kernel - 1) - 1) // pairs[2][0] + 1


@register_inference_rule(torch.nn.Conv2d)
def conv2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """Four dims; the channels are the module's, the last two what the window leaves."""
    given = _input(n)
    given.type = before = expand_to_tensor_dim(given.type, 4)
    existing = expand_to_tensor_dim(n.type, 4)
    if not is_consistent(before.dims[1], module_instance.in_channels):
        raise TypeError(
            f"Cannot apply {module_instance} with input type {before} and existing type {n.type} on {n}"
        )
    sizes = [calculate_out_dimension(before.dims[2 + i], module_instance, i) for i in (0, 1)]
    found = TensorType((before.dims[0], module_instance.out_channels, *sizes))
    n.type = get_greatest_upper_bound(found, existing)
    return n.type


@register_inference_rule(torch.nn.ReLU)
def relu_inference_rule(n: Node, module_instance: Any) -> Any:
    """The same type before and behind it."""
    return _from_input(n, lambda given: given)


def maxpool2d_check(typ: Any, module_instance: Any) -> TensorType:
    """The type of a pool's result. TypeError where the input has not 3 or 4 dims."""
    if len(typ.dims) not in (3, 4):
        raise TypeError(f"Wrong size {typ} for {module_instance}")
    sizes = [calculate_out_dimension(typ.dims[i - 2], module_instance, i) for i in (0, 1)]
    return TensorType((*typ.dims[:-2], *sizes))


@register_inference_rule(torch.nn.MaxPool2d)
def maxpool2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """The last two dims are what the window leaves."""
    return _from_input(n, lambda given: maxpool2d_check(given, module_instance))


def linear_check(tensor_type: Any, module_instance: Any) -> TensorType:
    """The type of a linear layer's result. TypeError where the input has not its features."""
    if len(tensor_type.dims) < 2:
        raise TypeError(f"Type {tensor_type} must have rank 2 or more.")
    wanted, have = module_instance.in_features, tensor_type.dims[-1]
    if not is_consistent(wanted, have):
        raise TypeError(f"Inconsistent {wanted} and {have} in {module_instance}")
    return TensorType((*tensor_type.dims[:-1], module_instance.out_features))


@register_inference_rule(torch.nn.Linear)
def linear_inference_rule(n: Node, module_instance: Any) -> Any:
    """The last dim is the module's out_features."""
    return _from_input(n, lambda given: linear_check(given, module_instance))


def adaptiveavgpool2d_check(tensor_type: Any, module_instance: Any) -> TensorType:
    """The type of an adaptive pool's result. TypeError where the input has not 3 or 4 dims."""
    if len(tensor_type.dims) not in (3, 4):
        raise TypeError(f"Tensor ranks must be 3 or 4. Got {tensor_type}")
    size = module_instance.output_size
    height, width = (size, size) if isinstance(size, int) else size
    height, width = width if height is None else height, height if width is None else width
    return TensorType((*tensor_type.dims[:-2], height, width))


@register_inference_rule(torch.nn.AdaptiveAvgPool2d)
def adaptiveavgpool2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """The last two dims are the module's output_size."""
    return _from_input(n, lambda given: adaptiveavgpool2d_check(given, module_instance))


def _flattened(start: int, end: int, rank: int) -> tuple[int, int]:
    """From which dim on to which one `flatten` joins them."""
    return rank if start == -1 else start, rank + end + 1 if end < 0 else end + 1


def flatten_check(tensor_type: Any, start_dim: int, end_dim: int) -> TensorType:
    """The type of what `flatten` makes. TypeError where the dims are not there."""
    dims = list(tensor_type.dims)
    start, end = _flattened(start_dim if start_dim == -1 else abs(start_dim), end_dim, len(dims))
    if not (0 <= start < len(dims) and start < end <= len(dims)):
        raise TypeError(f"Incompatible dimensions {start}, {end - 1} in type {tensor_type}")
    joined = dims[start:end]
    size = Dyn if Dyn in joined else prod(joined)
    return TensorType((*dims[:start], size, *dims[end:]))


@register_inference_rule(torch.flatten)
def flatten_inference_rule(n: Node) -> Any:
    """Some dims become one, as far as they are known."""
    start, end = _integer(n, 1, 1), _integer(n, 2, -1)
    return _from_input(n, lambda given: flatten_check(given, start, end))


# --- which sizes are equal --------------------------------------------------------------------------


def _equal(before: Any, behind: Any) -> list[Equality]:
    return [Equality(one, other) for one, other in zip(before, behind, strict=False)]


def _sizes(n: Node) -> tuple[Any, Any]:
    """The sizes of a node's input and its own, if both are known to be tensors; else none."""
    given = _input(n).type
    both = isinstance(given, TensorType) and isinstance(n.type, TensorType)
    return (given.dims, n.type.dims) if both else ((), ())


@register_refinement_rule(torch.nn.Conv2d)
def conv_refinement_rule(n: Node) -> list[Equality]:
    """The batch is as large before as behind it."""
    before, behind = _sizes(n)
    return _equal(before[:1], behind[:1])


@register_refinement_rule(torch.nn.Linear)
def linear_refinement_rule(n: Node) -> list[Equality]:
    """The batch is as large before as behind it."""
    before, behind = _sizes(n)
    return _equal(before[:1], behind[:1])


@register_refinement_rule(torch.nn.BatchNorm2d)
@register_refinement_rule(torch.nn.ReLU)
def all_eq(n: Node) -> list[Equality]:
    """All sizes are the same before and behind it."""
    return _equal(*_sizes(n))


@register_refinement_rule(torch.nn.AdaptiveAvgPool2d)
@register_refinement_rule(torch.nn.MaxPool2d)
def first_two_eq(n: Node) -> list[Equality]:
    """The first two sizes are the same before and behind it."""
    before, behind = _sizes(n)
    return _equal(before[:2], behind[:2])


@register_refinement_rule(torch.add)
@register_refinement_rule(operator.add)
def element_wise_eq(n: Node) -> list[Equality]:
    """Where both operands are known to have a size, the sum has it, too."""
    if not (isinstance(n.args[0], Node) and isinstance(n.args[1], Node)):
        return []
    one, other = n.args[0].type, n.args[1].type
    if not all(isinstance(known, TensorType) for known in (one, other, n.type)):
        return []
    left, right = broadcast_types(one, other)
    sizes = zip(left.dims, right.dims, n.type.dims, strict=False)
    return [Equality(x, z) for x, y, z in sizes if x == y]


@register_refinement_rule(torch.flatten)
def flatten_refinement_rule(n: Node) -> list[Equality]:
    """The dims before and behind those that become one keep their sizes."""
    start, end = _integer(n, 1, 1), _integer(n, 2, -1)
    before, behind = _sizes(n)
    start, end = _flattened(start, end, len(behind))
    return _equal(behind[:start], before[:start]) + _equal(behind[end:], before[end:])


@register_algebraic_expressions_inference_rule(torch.nn.Conv2d)
def conv_rule(n: Node, module_instance: Any) -> TensorType | None:
    """The last two sizes of a convolution, as expressions of its input's."""
    before, behind = _sizes(n)
    if not before:
        return None
    sizes = [calculate_out_dimension(before[2 + i], module_instance, i) for i in (0, 1)]
    n.type = found = TensorType((*behind[:2], *sizes))
    return found


# --- graphs -----------------------------------------------------------------------------------------


def _replaced(typ: Any, change: Callable[[Any], Any]) -> Any:
    """A type, or types, with each part of which something is said by itself changed."""
    if isinstance(typ, TensorType):
        return TensorType(tuple(_replaced(size, change) for size in typ.dims))
    if isinstance(typ, (list, tuple)):
        return type(typ)(_replaced(part, change) for part in typ)
    return change(typ)


def _type_of_output(n: Node) -> Any:
    n.type = map_arg(n.args[0], lambda node: node.type)
    return n.type


class GraphTypeChecker:
    """Gives each node of a traced module a type. TypeError where types contradict each other."""

    def __init__(self, env: dict[str, Any], traced: Any) -> None:
        self.env = env
        self.traced = traced

    def type_check(self) -> bool:
        """Check all nodes in turn."""
        for n in self.traced.graph.nodes:
            self.type_check_node(n)
        return True

    def type_check_node(self, n: Node) -> Any:
        """Check one node, whose inputs have been checked, and say its type."""
        if n.type is None:
            n.type = Dyn
        if n.op == "placeholder":
            return n.type
        if n.op == "get_attr":
            n.type = TensorType(get_parameter(self.traced, str(n.target)).data.shape)
            return n.type
        if n.op == "output":
            return _type_of_output(n)
        if n.op == "call_function":
            if n.target not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for target {n.target}!")
            more = (self.traced,) if n.target is getattr else ()
            return _INFERENCE_RULES[n.target](n, *more)
        if n.op == "call_module":
            module = self.traced.get_submodule(n.target)
            if type(module) not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for class {type(module)}!")
            return _INFERENCE_RULES[type(module)](n, module)
        raise NotImplementedError(f"Method {n.op} not yet implemented")


class Refine:
    """Says which sizes of a checked module are equal; those that are not known become variables."""

    def __init__(self, traced: Any) -> None:
        self.constraints: list[Equality] = []
        self.traced = traced
        self.symbol_iter = itertools.count()

    def refine(self) -> bool:
        """Collect the constraints of all nodes."""
        for n in self.traced.graph.nodes:
            self.refine_node(n)
        return True

    def symbolic_relations(self) -> bool:
        """Write the sizes of all nodes as expressions (SymPy's)."""
        for n in self.traced.graph.nodes:
            self.infer_symbolic_relations(n)
        return True

    def replace_dyn_with_fresh_var(self, typ: Any) -> Any:
        """The type with a new variable for each Dyn."""
        return _replaced(typ, lambda part: Var(next(self.symbol_iter)) if part == Dyn else part)

    def convert_to_sympy_symbols(self, typ: Any) -> Any:
        """The type with a symbol of SymPy's for each variable."""
        symbols = importlib.import_module("sympy").symbols  # which only this needs
        return _replaced(typ, lambda part: symbols(str(part)) if isinstance(part, Var) else part)

    def refine_node(self, n: Node) -> Any:
        """Collect the constraints of one node."""
        n.type = self.replace_dyn_with_fresh_var(Dyn if n.type is None else n.type)
        called = self._called(n)
        if called in _REFINEMENT_RULES:
            self.constraints += _REFINEMENT_RULES[called](n)
        return _type_of_output(n) if n.op == "output" else None

    def infer_symbolic_relations(self, n: Node) -> Any:
        """Write the sizes of one node as expressions."""
        n.type = self.convert_to_sympy_symbols(n.type)
        called = self._called(n)
        if called in _RULES:
            module = (self.traced.get_submodule(n.target),) if n.op == "call_module" else ()
            return _RULES[called](n, *module)
        return _type_of_output(n) if n.op == "output" else None

    def _called(self, n: Node) -> Any:
        """By what the rules of a node are found: a function, or the class of a module."""
        if n.op == "call_module":
            return type(self.traced.get_submodule(n.target))
        return n.target if n.op == "call_function" else None


def get_parameter(traced: Any, target: str) -> Any:
    """The parameter of this name. AttributeError where there is none."""
    path, _, name = target.rpartition(".")
    module = traced.get_submodule(path)
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
