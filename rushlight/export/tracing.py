"""export(): a module's call, recorded at several sizes and told as one graph."""

from __future__ import annotations

import inspect
import itertools
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import rushlight as torch
from rushlight._engine.core.layout import contiguous_strides
from rushlight._engine.core.pytree import Tree, flatten
from rushlight._export.utils import _disable_load_state_dict_hooks
from rushlight._subclasses.fake_tensor import FakeTensor
from rushlight.export._draft_export import FailureReport, FailureType
from rushlight.export.core import core
from rushlight.export.decomp_utils import KEPT, by_fractions
from rushlight.export.errors import GuardOnDataDependentSymNode, UserError, UserErrorType
from rushlight.export.functional import without_writes, writes
from rushlight.export.listener import Listener, Value, listening
from rushlight.export.narrowing import narrowed, related_as, relations, within_given
from rushlight.export.numbers.expressions import Relation, number, parsed, symbol
from rushlight.export.numbers.given import is_size, numbers, of_operands, rewritten
from rushlight.export.numbers.nodes import SizeNodes
from rushlight.export.numbers.symbolic import SYMBOLIC, Numbers
from rushlight.export.numbers.violations import constraints_violated
from rushlight.export.overloads import Overload, named
from rushlight.export.program import ExportedModule, ExportedProgram
from rushlight.export.recording import shapes_given, side_effects, strictness
from rushlight.export.recording.asked import sizes_of
from rushlight.export.recording.comparing import alike, equal
from rushlight.export.recording.fakes import Fakes
from rushlight.export.recording.inputs import by_parameter, distinct, examples, paths, spread
from rushlight.export.recording.leaks import Leaks
from rushlight.export.recording.module_calls import module_calls, renamed
from rushlight.export.recording.module_inputs import modules_as_inputs
from rushlight.export.recording.points import fulfils, points, resized, smaller
from rushlight.export.recording.regions import in_modes
from rushlight.export.recording.stand_ins import StandIns
from rushlight.export.recording.state import as_before, assigned_buffers, held_by
from rushlight.export.recording.unread import without_unread
from rushlight.export.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    SymIntArgument,
    TensorArgument,
    check_outputs,
    user_output,
)
from rushlight.export.symbols import (
    UNBOUNDED,
    AdditionalInputs,
    Dim,
    Read,
    ShapesCollection,
    Sym,
    Symbol,
    _IntWrapper,
    fitted,
    joined,
    symbols,
    times,
)
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.utils import _pytree


class _Mismatch(Exception):
    """Two records at different sizes are not of one program."""


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """The program that `mod(*args, **kwargs)` is, as a graph of aten ops with its state.

    dynamic_shapes: for each argument (by name, or in order) a dict or sequence of the dimensions that may
    have other sizes: a Dim, Dim.AUTO or Dim.DYNAMIC; or a ShapesCollection or AdditionalInputs. ValueError if
    `mod` is no module. UserError for arguments or dimensions that cannot be, and where the program does
    something else at other sizes; GuardOnDataDependentSymNode where it looks at a tensor's numbers. strict:
    both ways are recorded alike; what strict export refuses by its settings is refused, and errors are those
    of torch._dynamo.exc: Unsupported, UserError, TorchRuntimeError.
    """
    deferred = prefer_deferred_runtime_asserts_over_guards
    given = mod, args, kwargs or {}, dynamic_shapes, None, preserve_module_call_signature, deferred
    if not strict:
        return _exported(*given)
    strictness.check(mod)
    with strictness.told(), side_effects.put_back(mod):
        return _exported(*given)


def drafted(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    dynamic_shapes: Any,
    *,
    preserve_module_call_signature: tuple[str, ...] = (),
    failures: list[FailureReport],
) -> ExportedProgram:
    """A program that is recorded on where export() refuses; `failures` is told of it."""
    made = _exported(mod, args, kwargs or {}, dynamic_shapes, failures, preserve_module_call_signature)
    leaves = iter(flatten((args, kwargs or {}))[0])
    holders = made.graph.find_nodes(op="placeholder")
    for node, spec in zip(holders, made.graph_signature.input_specs, strict=True):
        real = next(leaves) if spec.kind is InputKind.USER_INPUT else made._tensor(spec.target)
        if isinstance(node.meta.get("val"), FakeTensor):
            node.meta["val"].real_tensor = real
    return made


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """From now on export() takes and returns instances of a dataclass, whose fields are inputs and outputs.

    serialized_type_name: its name in files. ValueError for what is no dataclass.
    """
    _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


def _exported(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shapes: Any,
    failures: list[FailureReport] | None,
    preserved: tuple[str, ...],
    deferred: bool = False,
) -> ExportedProgram:
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if isinstance(mod, torch.jit.ScriptModule):
        raise ValueError(
            "Exporting a ScriptModule is not supported. Maybe try converting your ScriptModule to an "
            "ExportedProgram using `TS2EPConverter(mod, args, kwargs).convert()` instead."
        )
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    args = tuple(args)
    given = shapes
    if isinstance(shapes, (ShapesCollection, AdditionalInputs)):
        given = shapes.dynamic_shapes(mod, args, kwargs)
    args, kwargs = _mapped(lambda a: a.val if isinstance(a, _IntWrapper) else a, (args, kwargs))
    stand_ins = StandIns()
    before = dict(mod.named_parameters(remove_duplicate=False))
    before |= mod.named_buffers(remove_duplicate=False)
    with modules_as_inputs((args, kwargs)), stand_ins.within(mod):
        own_args, own_kwargs = _mapped(stand_ins.of, (args, kwargs))
        call = _Call(mod, own_args, own_kwargs, given, failures=failures)
        call.mode, call.preserved = stand_ins.mode, tuple(preserved)
        call.deferred = deferred and not torch._dynamo.config.do_not_emit_runtime_asserts
        found = call.exported()
    call.leaks.tell()
    if stand_ins.mode is not None:
        found._example_inputs = args, kwargs
        found._state_dict = {name: before.get(name, value) for name, value in found._state_dict.items()}
    if isinstance(shapes, AdditionalInputs):
        shapes.verify(found)
    return found


def _mapped(change: Callable[[Any], Any], given: Any) -> Any:
    """Arguments with changed leaves; the same where none changes, since a tree makes a tuple of a Size."""
    leaves, spec = flatten(given)
    found = [change(v) for v in leaves]
    return given if all(map(operator.is_, leaves, found)) else spec.unflatten(found)


class _Call:
    """A module, the inputs, and which of their sizes may change."""

    def __init__(
        self,
        mod: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        shapes: Any,
        opened: Any = None,
        failures: list[FailureReport] | None = None,
    ) -> None:
        self.instead, self.leaks = dict[Any, Any](), Leaks()
        self.failures = failures
        self.mode: Any = None
        self.preserved: tuple[str, ...] = ()
        # Whether what sizes have to fulfil is asserted by the program instead of refused.
        self.deferred = False
        # Whether it is a program, of whose sizes everything is known; and what it asks of them.
        self.again, self.asked = False, list[Relation]()
        # Of a program that is recorded again: its nodes' names, and the nodes that they are now.
        self.known: dict[str, Any] = {}
        self.mod, self.args, self.kwargs, self.opened, self.held = mod, args, kwargs, opened, held_by(mod)
        self.leaves, self.spec = flatten((args, kwargs))
        forward = inspect.signature(mod.forward)
        bound = forward.bind(*args, **kwargs).arguments
        named: list[tuple[str, Any]] = []
        for name, value in bound.items():
            kind = forward.parameters[name].kind
            many = value if kind is inspect.Parameter.VAR_POSITIONAL else ()
            named += (
                [(f"{name}_{i}", v) for i, v in enumerate(many)]
                if many
                else (list(value.items()) if kind is inspect.Parameter.VAR_KEYWORD else [(name, value)])
            )
        order = {key: value for key, value in named if key not in kwargs} | kwargs
        self.names = list(order)
        pathed = [part for name, value in order.items() for part in paths(name, f"L['{name}']", value)]
        self.inputs, self.sources = distinct([p[0] for p in pathed]), [p[1] for p in pathed]
        if isinstance(shapes, (tuple, list)) and len(shapes) == len(bound):
            shapes_given.check(bound, shapes)
        shapes = by_parameter(shapes, forward, bound, [name for name, _ in named])
        if isinstance(shapes, dict):
            shapes_given.check(order, shapes)
        self.symbols = symbols(spread(shapes, order), self.leaves, self.sources)

    def exported(self) -> ExportedProgram:
        """The program; dimensions without a Dim that must be the same are one, and of these, those of
        Dim.AUTO that make a difference keep their sizes.
        """
        given, fewer = self.symbols, joined(self.symbols)
        while True:
            try:
                return self.program()
            except _Mismatch as error:
                self.symbols = next(fewer, given)
                if self.symbols is not given:
                    continue
                found = self.related()
                if found is not None:
                    return found
                free = [s for s in self.symbols if not isinstance(s.given, Dim) and s.given.kind == "AUTO"]
                if not free and self.failures is None:
                    raise UserError(UserErrorType.CONSTRAINT_VIOLATION, self.violated(error)) from error
                if not free:
                    free, names = self.symbols, [s.name for s in self.symbols]
                    told = {"expr": str(error), "dims": names}
                    self.failures += [FailureReport(FailureType.GUARD_ADDED, told)]  # type: ignore[operator]
                self.symbols = given = [s for s in self.symbols if s not in free]

    def program(self) -> ExportedProgram:
        """The graph of all records: the first tells what sizes and numbers of tensors decide, further ones
        at other sizes what hangs on them, and where the program asks for sizes that only those tell, one more
        with these.
        """
        while True:
            at = points(self.symbols)[0]
            first = self.first(at)
            fewer = self.narrowed(first)
            if fewer is self.symbols:
                break
            self.symbols = fewer
        within_given(self.symbols)
        read = _read(first.listener.numbers)
        records, at_all = [first], [at | {s.name: s.hint for s in read}]
        own = first.listener.numbers
        asserted = [r for r, _ in own.asserted] + own.kept + own.possible + self.asked
        told = all("told" in n.meta for n in first.listener.order if isinstance(n.meta.get("val"), Value))
        wanted, failed = points([*self.symbols, *read], asserted)[1:], None
        for sizes in itertools.chain(wanted, self.together(at_all, asserted)):
            soft = all(sizes[s.name] == s.hint for s in self.symbols)
            try:
                record = self.record(sizes, conditions=first.listener.conditions)
                _comparable(first, record)
            except (_Mismatch, GuardOnDataDependentSymNode) as error:
                # Where rules tell all sizes, an op that refuses others does so at each call.
                refused = isinstance(error.__cause__, (RuntimeError, IndexError))
                if not soft and not (refused and (told or smaller(sizes, at))):
                    raise
                failed = error if failed is None and not soft else failed
                continue
            records.append(record)
            at_all.append(sizes)
        if failed is not None and self.still(at_all):
            raise failed
        _merged(records, at_all)
        if first.listener.numbers.unknown and len(records) > 1:
            shapes = [getattr(n.meta.get("val"), "shape", None) for n in first.listener.order]
            again = self.record(at, symbolic=True, shapes=shapes)
            fewer = self.narrowed(again)
            if fewer is not self.symbols:
                self.symbols = fewer
                return self.program()
            _comparable(again, records[-1])
            first = records[0] = again
            _merged(records, at_all)
        first.sizes.once()
        first.sizes.assertions()
        made = _assembled(self, first)
        self.leaks.note(first.listener)
        return made

    def still(self, at_all: list[dict[str, int]]) -> list[Symbol]:
        """The symbols that have been of too few sizes: what hangs on them is not known."""
        return [s for s in self.symbols if len({p[s.name] for p in at_all}) <= min(2, len(s.others()))]

    def together(self, at_all: list[dict[str, int]], asserted: list[Relation]) -> Iterator[dict[str, int]]:
        """More sizes, where some could not change alone: all larger, in proportion or by as much."""
        base = at_all[0]
        for factor, more in ((2, 0), (3, 0), (1, 1), (1, 2)):
            if not self.still(at_all):
                return
            found = base | {s.name: min(factor * s.hint + more, s.high) for s in self.symbols}
            if found not in at_all and fulfils(found, asserted):
                yield found

    def first(self, at: dict[str, int]) -> _Record:
        """The record that tells; UserError where the program is one of the sizes 1 alone that inputs have."""
        try:
            return self.record(at, symbolic=True)
        except Exception:
            small = [s for s in self.symbols if s.hint != s.size and isinstance(s.given, Dim)]
            if not small:
                raise
            sizes = {s.name: (s.size, s.size) for s in small}
            self.record(at | {s.name: s.size for s in small}, symbolic=True)
            self.refused(constraints_violated(small, sizes, []))
            raise

    def narrowed(self, record: _Record) -> list[Symbol]:
        """The symbols after what a record decided; of a program all is known."""
        return self.symbols if self.again else narrowed(self.symbols, record.listener.numbers, self.refused)

    def related(self) -> ExportedProgram | None:
        """The program where two sizes follow one another, or one is a number; None where there is none.

        UserError where that is not what Dims say.
        """
        whole = self.symbols
        for a, b, of in relations(whole):
            self.symbols = related_as(whole, a.name, b.name, of)
            found = self.attempt()
            if found is not None:
                if isinstance(a.given, Dim) or isinstance(b.given, Dim):
                    self.refused(constraints_violated([], {}, [(a, b, of)]))
                return found
        for s in whole if len(whole) <= 6 else ():
            self.symbols = [other for other in whole if other is not s]
            found = self.attempt()
            if found is not None:
                if s.refuses(s.size, s.size):
                    self.refused(constraints_violated([s], {s.name: (s.size, s.size)}, []))
                return found
        self.symbols = whole
        return None

    def attempt(self) -> ExportedProgram | None:
        """The program with these symbols, if it is one."""
        try:
            return self.program()
        except _Mismatch:
            return None

    def refused(self, why: str) -> None:
        """UserError where sizes cannot be what their Dims say; a draft tells it, and goes on."""
        if self.failures is None:
            raise UserError(UserErrorType.CONSTRAINT_VIOLATION, why)
        names = [s.name for s in self.symbols]
        self.failures.append(FailureReport(FailureType.GUARD_ADDED, {"expr": why, "dims": names}))

    def violated(self, error: Exception) -> str:
        """What PyTorch says where a Dim's values do not all do the same."""
        names = [s.given.__name__ if isinstance(s.given, Dim) else s.name for s in self.symbols]
        return (
            f"Constraints violated ({', '.join(names)})! The program does something else at other sizes "
            f"in the specified range: {error}. Give a range in which it does not, as {names[:1]} = "
            "Dim(..., max=...), or leave the dimension static."
        )

    def record(
        self, sizes: dict[str, int], symbolic: bool = False, shapes: Any = None, conditions: Any = None
    ) -> _Record:
        """The call at some sizes, and with some numbers for those that are read of tensors. symbolic: tell
        these symbolically. shapes: of the tensors, where an earlier record has told; conditions: of branches.
        """
        values = [
            v.detach().clone().requires_grad_(v.requires_grad) if isinstance(v, torch.Tensor) else v
            for v in self.leaves
        ]
        for known in self.symbols:
            for place, of in known.places.items():
                size = of(sizes[known.name])
                given = values[place.leaf]
                values[place.leaf] = size if place.dim is None else resized(given, place.dim, size)
        failures = None if self.failures is None else self.failures if symbolic else []
        listener = Listener(
            *(self.mod, self.opened, self.instead, failures, symbolic, sizes, self.ranges(), shapes),
            *(conditions, self.preserved),
        )
        nodes = SizeNodes(listener.graph, self.symbols, listener.numbers)
        listener.numbers.nodes, listener.numbers.deferred = nodes.now, self.deferred
        listener.numbers.unnamed = {s.name for s in self.symbols if not isinstance(s.given, Dim)}
        self.holders(listener, values)
        exprs = [
            (place, symbol(s.name) * number(of(1) - of(0)) + number(of(0)))
            for s in self.symbols
            for place, of in s.places.items()
        ]
        for place, expr in exprs:
            if place.dim is None:
                values[place.leaf] = listener.input(values[place.leaf], expr, place.leaf)
            else:
                given = values[place.leaf]
                listener.exprs.setdefault(id(given), {})[place.dim] = expr
                listener.node(given).meta["told"] = sizes_of(listener, given)
        args, kwargs = self.spec.unflatten(values)
        with as_before(self.mod, symbolic), torch.no_grad(), listening(listener):
            first = symbolic
            try:
                again = isinstance(self.mod, ExportedModule)
                result = (self.mod.node_by_node if again else self.mod)(*args, **kwargs)
            except (GuardOnDataDependentSymNode, UserError):
                raise
            except Exception as error:
                if first:
                    raise
                raise _Mismatch(f"at {sizes} it raises {type(error).__name__}: {error}") from error
            leaves, out = flatten(result)
            check_outputs(leaves)
            outputs = [listener.argument(v) for v in leaves]
            for buffer, now in assigned_buffers(self.held, self.mod):
                listener.record(named("torch.ops.aten.copy_.default"), (buffer, now), {}, buffer)
            if again:
                if symbolic:
                    self.known = {n: listener.known.get(id(v)) for n, v in self.mod.results.items()}
                self.mod.results.clear()
        return _Record(listener, nodes, outputs, out)

    def holders(self, listener: Listener, values: list[Any]) -> None:
        """Placeholders of the state, and of the inputs."""
        for spec, tensor in self.held:
            listener.knows(tensor, listener.placeholder(spec.arg.name))
        for leaf, (name, value) in enumerate(zip(self.inputs, values, strict=True)):
            node = listener.placeholder(name)
            node.meta["leaf"] = leaf
            node.meta["source"] = re.sub(r"^L\['(\w+)'\]", r"\1", self.sources[leaf])
            if isinstance(value, torch.Tensor):
                listener.knows(value, node)
            elif value is None or isinstance(value, (int, float, str)):
                node.meta["val"] = value

    def ranges(self) -> dict[str, Any]:
        """The bounds of the sizes; those of sizes 0 and 1 are programs of their own."""
        return {s.name: (max(s.low, min(2, s.hint)), s.high) for s in self.symbols}


class _Record:
    """One recorded call: its graph and its results."""

    def __init__(self, listener: Listener, sizes: SizeNodes, outputs: list[Any], out: Tree) -> None:
        self.listener, self.sizes, self.outputs, self.out = listener, sizes, outputs, out
        self.graph = listener.graph
        self.compared = [*listener.order, self.graph.output(tuple(outputs))]


# --- one graph of several records -----------------------------------------------------------------


def _read(numbers: Numbers) -> list[Symbol]:
    """The symbols of numbers that the program reads of tensors, and of sizes that hang on data."""
    found: list[Symbol] = []
    for name in numbers.unbacked:
        if name.startswith("u"):
            low, high = numbers.known.ranges.get(name, (-UNBOUNDED, UNBOUNDED))
            found.append(Read(name, int(numbers.values[name]), low, high))
    return found


def _comparable(first: _Record, other: _Record) -> None:
    """_Mismatch unless both are of one program."""
    told = [(n.op, n.target if n.op == "call_function" else None) for n in first.compared]
    if told != [(n.op, n.target if n.op == "call_function" else None) for n in other.compared]:
        raise _Mismatch("it consists of other ops")


def _merged(records: list[_Record], at: list[dict[str, int]]) -> None:
    """The first record's graph, with expressions where sizes make a difference."""
    sizes = records[0].sizes
    _constants_alike(records)
    for nodes in zip(*(r.compared for r in records), strict=True):
        if getattr(nodes[0].target, "namespace", "") == "higher_order":
            continue  # numbers from outside are operands of the first alone
        rows = [numbers(n) for n in nodes]
        if len({len(row) for row in rows}) > 1:
            raise _Mismatch(f"{nodes[0].name} has other arguments")
        found = [
            values[0] if values[0] is SYMBOLIC else _same(values, at, nodes[0])
            for values in zip(*rows, strict=False)
        ]
        if any(isinstance(v, Sym) for v in found):
            rewritten(
                nodes[0],
                [sizes.before(parsed(v.expression), nodes[0]) if isinstance(v, Sym) else v for v in found],
            )
        value = nodes[0].meta.get("val")
        if isinstance(value, Value):
            shapes = [n.meta["val"] for n in nodes]
            told = nodes[0].meta.pop("told", ())
            columns = zip(*(s.shape for s in shapes), strict=True)
            shape = tuple(_size(v, told[d : d + 1], at, nodes[0]) for d, v in enumerate(columns))
            value._stride = _strides(shapes, shape, at)
            value.shape = tuple.__new__(torch.Size, shape)


def _constants_alike(records: list[_Record]) -> None:
    """_Mismatch where what is kept as a constant is another at other sizes."""
    for nodes in zip(*([n for n in r.graph.nodes if "constant" in n.meta] for r in records), strict=False):
        first, *others = [
            r.listener.constants[n.meta["constant"]] for r, n in zip(records, nodes, strict=True)
        ]
        if nodes[0].users and not all(alike(first, other) for other in others):
            raise _Mismatch(f"{nodes[0].name} is a constant there, which differs")


def _same(values: Any, at: list[dict[str, int]], node: Node) -> Any:
    first = values[0]
    if isinstance(first, Sym):  # from an earlier comparison
        return first
    if all(type(v) is type(first) and equal(v, first) for v in values):
        return first
    sized = all(is_size(v) for v in values)
    size = (fitted(values, at) or of_operands(node, values, at)) if sized else None
    if size is None:
        raise _Mismatch(f"{node.name} is given {list(values)} at {at}")
    return size


def _size(values: Any, told: Any, at: list[dict[str, int]], node: Node) -> Any:
    """A size that is what a rule tells, or what fits all records."""
    for expr in told if not isinstance(values[0], Sym) else ():
        if all(expr.free() <= p.keys() and expr.at(p) == v for v, p in zip(values, at, strict=True)):
            return values[0] if expr.constant is not None else Sym(str(expr), values[0])
    return _same(values, at, node)


def _strides(values: list[Any], shape: tuple[Any, ...], at: list[dict[str, int]]) -> tuple[Any, ...]:
    """Strides: of contiguous tensors those of the shape, else expressions; the first's where none fits."""
    if any(isinstance(n, Sym) for n in values[0]._stride):
        return tuple(values[0]._stride)
    if all(tuple(v._stride) == contiguous_strides(v.shape) for v in values):
        found: list[Any] = [1]
        for n in shape[:0:-1]:
            found.append(times(found[-1], n))
        return tuple(found[::-1][: len(shape)])
    columns = zip(*(v._stride for v in values), strict=True)
    return tuple(column[0] if (size := fitted(column, at)) is None else size for column in columns)


def _assembled(call: _Call, record: _Record) -> ExportedProgram:
    """The program of a graph."""
    record.listener.numbers.close()
    graph, mod = record.graph, call.mod
    without_unread(graph, call.opened is None)
    root = torch.nn.Module()
    for name, module in record.listener.top.modules.items():
        setattr(root, name, module)
    in_modes(record.listener, graph, root, call.opened is not None)
    specs = [spec for spec, _ in call.held]
    for node in graph.nodes:
        if "constant" in node.meta:
            specs.append(
                InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), node.meta["constant"])
            )
    held = {n.meta["leaf"]: n for n in graph.nodes if "leaf" in n.meta}
    for leaf, (name, value) in enumerate(zip(call.inputs, call.leaves, strict=True)):
        arg: Any = TensorArgument(name) if isinstance(value, torch.Tensor) else ConstantArgument(name, value)
        if isinstance(held[leaf].meta.get("val"), SYMBOLIC):
            arg = SymIntArgument(name)
        specs.append(InputSpec(InputKind.USER_INPUT, arg, None))
    outputs = [user_output(v) for v in graph.output_node().args[0]]
    with _disable_load_state_dict_hooks(mod):
        whole = mod.state_dict(keep_vars=True)
    # Parameters first.
    state = dict(sorted(whole.items(), key=lambda item: not isinstance(item[1], torch.nn.Parameter)))
    hidden = {name: b for name, b in mod.named_buffers() if name not in state}
    listener = record.listener  # some attributes are constants of another name
    hidden |= {n: t for n, t in listener.other_names if listener.attributes[id(t)] in listener.constants}
    made = ExportedProgram.of(
        GraphModule(root, graph),
        ExportGraphSignature(specs, outputs),
        state,
        record.listener.constants | hidden,
        [*call.symbols, *_read(record.listener.numbers)],
        call.spec,
        record.out,
        call.names,
        (call.args, call.kwargs),
    )
    if isinstance(mod, GraphModule):
        made.graph_module.meta.update(mod.meta)
    made._calls = None if call.opened else module_calls(made, record.listener)
    fakes = Fakes(record.listener.numbers, call.mode)
    fakes.module(made.graph_module)
    fakes.bindings()
    made._deferred = call.deferred
    made._guards = [r for r in record.listener.numbers.kept if r.sign == "!=" or r.has_operations()]
    return made


def decomposed(program: ExportedProgram, table: dict[Any, Any] | None) -> ExportedProgram:
    """The program recorded again, in the rows that composite ops consist of."""
    opened = _Opened(table, bool(program.range_constraints))
    args, kwargs = program.example_inputs or examples(program)
    instead = {
        o: fn for o, fn in (table or {}).items() if getattr(fn, "__func__", None) is not Overload.decompose
    }
    if table is None:
        instead = core()
    stand_ins, module = StandIns(), program.module(check_guards=False)
    with stand_ins.within(module):
        own_args, own_kwargs = _mapped(stand_ins.of, (args, kwargs))
        made: ExportedProgram = without_writes(
            recorded(module, own_args, own_kwargs, None, opened, program, instead, stand_ins)
        )
    made._example_inputs = args, kwargs
    made.graph_module.meta.update(program.graph_module.meta)
    made.graph.eliminate_dead_code()
    made.graph_module.recompile()
    if not writes(made.graph):
        made._verifiers = [torch._export.verifier.Verifier]
    return made


class _Opened:
    """Which composite ops are taken apart: those of a table; all without one. They are told in PyTorch's."""

    core = True

    def __init__(self, table: dict[Any, Any] | None, sized: bool) -> None:
        self.table, self.sized = table, sized

    def __call__(self, row: Any, found: Any) -> bool:
        if found is None:
            return True
        if self.sized and by_fractions(*found):
            return False
        return str(found[0]) not in KEPT if self.table is None else found[0] in self.table


def recorded(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shapes: Any,
    opened: Any,
    program: ExportedProgram | None = None,
    instead: dict[Any, Any] | None = None,
    stand_ins: StandIns | None = None,
) -> ExportedProgram:
    """export(), with composite rows told in others where opened(row, its overload) says so; of a program
    again. instead: functions that are recorded in the place of overloads; stand_ins: what the program's fake
    tensors are here.
    """
    call, own = _Call(mod, args, kwargs, shapes, opened), stand_ins or StandIns()
    call.instead, call.mode = instead or {}, own.mode
    if program is None:
        return call.exported()
    call.symbols, call.again, call.asked = [s for s in program._symbols if s.places], True, program._guards
    call.names = program._forward_names
    call.deferred = program._deferred and not torch._dynamo.config.do_not_emit_runtime_asserts
    call.held = [
        (s, own.of(program._tensor(s.target)))
        for s in program.graph_signature.input_specs
        if s.kind is not InputKind.USER_INPUT
    ]
    try:
        made = call.program()
    except _Mismatch as error:  # ops that are taken apart into more ops for some sizes
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, call.violated(error)) from error
    made._state_dict, made._constants = program._state_dict, {**program._constants, **made._constants}
    made._calls = renamed(program, made, call.known)
    if not call.deferred:
        made._guards += [r for r in program._guards if r not in made._guards]
    for old, new in zip(program.graph.find_nodes(op="placeholder"), made.graph.nodes, strict=False):
        if "custom" in old.meta and old.name == new.name:
            new.meta["custom"] = old.meta["custom"]
    if "custom" in program.graph.output_node().meta:
        made.graph.output_node().meta["custom"] = program.graph.output_node().meta["custom"]
    return made
