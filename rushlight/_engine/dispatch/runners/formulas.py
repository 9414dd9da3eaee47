"""Formulas: pointwise meaning made callable.

A Formula is a scalar expression over named operands with a dtype rule. It keeps one CompiledFormula per
combination of operand kinds (the compiled kernel and the kind of the result), records autograd nodes, and
derives its own gradients, which are Formulas again.

Ways to run one: call it (a new tensor, recorded); `write_result` (into a tensor, for in-place variants);
`try_write_result` (the same for out=, while nobody listens). All end in `compute` or `write_arrays`, which
take arrays and one CompiledFormula.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import TRACES, Node, backward_name, new, next_seq
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import CPU, META
from rushlight._engine.core.layout import (
    broadcast_shapes,
    check_apart_from_itself,
    in_order,
    order_of,
    result_memory,
    result_order,
)
from rushlight._engine.core.promotion import of_number
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.services import service
from rushlight._engine.derive import cast, vjp
from rushlight._engine.dispatch import node_names
from rushlight._engine.dispatch.interpreters import MODES, STACK, heard, interpret, matching, under, wrapped
from rushlight._engine.dispatch.nodes.formula_nodes import (
    INCOMING,
    ZERO,
    NoGradient,
    SavedByFormula,
    apply,
    place,
    release,
)
from rushlight._engine.dispatch.nodes.formula_rules import SavedOperands, saved_operands
from rushlight._engine.dispatch.number_operands import NUMBERS, scalar
from rushlight._engine.dispatch.off_cpu import Launch, backend_of, brought
from rushlight._engine.dispatch.runners.laid_out import Ordered, laid_out, may_differ, may_differ_of_two
from rushlight._engine.dispatch.runners.meta import refuse_devices
from rushlight._engine.dispatch.runners.refused_dtypes import check_dtype
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, inputs, m, narrowed, substitute, symbol, toposort
from rushlight._engine.ops.row_kernels import BIG, BROAD, broad
from rushlight._engine.ops.table import WIDE_DTYPES, refused_on_cuda
from rushlight._engine.tensors.kind import Kind, kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import LISTENING, WRAPPED, Tensor, wrap

Array = np.ndarray[Any, Any]
# What the classes of formulas' nodes share.
_NODE = {"__slots__": (), "apply": apply, "release": release}
# Every Formula that is alive.
_all: weakref.WeakSet[Formula] = weakref.WeakSet()


class CompiledFormula:
    """A formula compiled for one combination of operands: dtypes and devices of tensors, types of numbers.

    fn, large: the kernel as a function of arrays, for small and (in all threads) for large ones; `fn` is
    exchanged when machine code is there. laid: `fn` whose results lie as PyTorch's wherever the operands lie,
    for one of them or two, and numbers. result_kind: the result's dtype and device. scalar_np: the NumPy
    dtype that numbers are converted to. node: the class of the nodes that calls leave in the graph.
    """

    __slots__ = (
        "fn",
        "result_kind",
        "large",
        "scalar_np",
        "complex_",
        "kernel",
        "node",
        "saved_by_wanted",
        "copied",
        "beside",
        "laid",
        "several",
    )

    def __init__(
        self,
        kernel: Any,
        result: Kind,
        scalar_np: Any,
        complex_: bool,
        node: Any,
        copied: Sequence[int],
        beside: Sequence[int],
        there: Sequence[bool],
        tensors: int,
    ) -> None:
        self.kernel = kernel
        # The places of operands that PyTorch converts first, and of numbers that are no operands to it.
        self.copied, self.beside = tuple(copied), tuple(beside)
        # The class of the nodes, None where the result has no gradient; what they keep, by the
        # set of operands whose gradients are wanted (one bit each).
        self.node = node if node is not None and result.dtype.category >= dt.FLOATING else None
        self.saved_by_wanted: dict[int, SavedOperands] = {}
        self.fn: Callable[..., Any] = kernel.fn
        self.result_kind = result
        self.large: Callable[..., Any] = kernel.large
        self.laid: Callable[..., Any]
        self.scalar_np = scalar_np
        self.complex_ = complex_
        if result.backend is not None:
            run = partial(compute_on_host, kernel, result, self.copied, self.beside)
            self.fn = self.large = result.backend.launcher(Launch(result.backend, kernel, run, there))
            self.laid = self.fn
        else:
            self.several = tensors > 1
            self._lay(self.fn)
            kernel.on_ready(self._ready)

    def _ready(self, ufunc: Callable[..., Any]) -> None:
        self.fn = ufunc
        if self.kernel.ready or self.copied or self.beside:
            self._lay(ufunc)
        else:
            self.laid = ufunc  # NumPy's functions, which are told where to write

    def _lay(self, fn: Callable[..., Any]) -> None:
        self.laid = laid_out(Ordered(self, fn, Formula.compute, self.several))


def compute_on_host(
    kernel: Any,
    result: Kind,
    copied: Sequence[int],
    beside: Sequence[int],
    arrays: Sequence[Array],
    out: Any,
) -> Any:
    """A kernel's result on the host's arrays, laid out as `Formula.compute` does; in `out` if there is
    one.
    """
    out = result_memory(arrays, result.np, copied, beside) if out is None else out
    run = kernel.large if any([a.size >= BIG for a in arrays]) else kernel.fn
    return run(*arrays) if out is None else run(*arrays, out=out)


class Formula:
    """A scalar expression with named operands; call it with one tensor or number for each."""

    kind, autocast = "formula", "keep"

    def __init__(
        self,
        name: str,
        root: Expr,
        operands: Sequence[str],
        dtypes: str = "same",
        result: str = "same",
        refuse: dict[str, str] | None = None,
        promoting: Sequence[str] | None = None,
        label: Any = None,
        fixed: dict[str, Any] | None = None,
        narrow: Sequence[str] = (),
        wide: Sequence[str] = (),
        gradients: dict[str, Expr] | None = None,
    ) -> None:
        self.name, self.root, self.operands = name, root, tuple(operands)
        # Gradients of real numbers that the row declares, by operand; others are derived.
        self.declared = gradients or {}
        self.dtypes, self.result, self.refuse = dtypes, result, refuse or {}
        # Operands that take part in promotion: all but conditions and plain scalars.
        self.promoting = frozenset(self.operands if promoting is None else promoting)
        # Numbers that PyTorch rounds to the dtype of the computation, however narrow, and operands that keep
        # the digits of the arithmetic where they are numbers or of no dims.
        self.narrow, self.wide = frozenset(narrow), frozenset(wide)
        self.compiled_by_kinds: dict[Any, CompiledFormula] = {}
        # The generated dispatcher's own table: one kind, or (kind, number class), for same-kind operands.
        self.fast: dict[Any, CompiledFormula] = {}
        self._gradients: dict[tuple[int, bool], tuple[Any, tuple[str, ...]]] = {}
        # By the names of what a node kept: each operand's gradient, and which of (grad, *kept) are its
        # operands; None where it was not asked for yet.
        self.variants: dict[tuple[tuple[str, ...], bool], list[tuple[Any, tuple[int, ...]] | None]] = {}
        # Functions without a gradient (d of their atom is None) leave no node behind.
        self.smooth = root.op not in ATOMS or ATOMS[root.op].derivative is not None
        self._saves: dict[tuple[Any, ...], tuple[str, ...]] = {}
        # What PyTorch calls the nodes: see dispatch/node_names.py, which also reads fixed attributes.
        self.label, self.fixed = label, fixed or {}
        inside = label == node_names.INSIDE
        called = label if isinstance(label, str) and not inside else backward_name(name)
        _all.add(self)
        self.nodes = {
            flag: type(called, (Node,), {**_NODE, "formula": self, "complex_": flag, "inside": inside})
            for flag in (False, True)
        }

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.operands)}) = {self.root}"

    # --- kernels --------------------------------------------------------------------------------

    def compiled_for(self, values: Sequence[Any]) -> CompiledFormula:
        """The CompiledFormula for these operands, made at first need."""
        key = tuple(
            [(v._kind, v._geometry.ndim == 0) if isinstance(v, Tensor) else v.__class__ for v in values]
        )
        found = self.compiled_by_kinds.get(key)
        if found is None:
            found = self._make(values)
            if not WIDE_DTYPES.used:
                self.compiled_by_kinds[key] = found
                self._open_fast(found, values)
        return found

    def _open_fast(self, compiled: CompiledFormula, values: Sequence[Any]) -> None:
        kinds = [v._kind if isinstance(v, Tensor) else v.__class__ for v in values]
        if compiled.result_kind.on_meta or any(isinstance(k, Kind) and k.lazy for k in kinds):
            return
        if isinstance(kinds[0], Kind) and all(k is kinds[0] for k in kinds):
            self.fast[kinds[0]] = compiled
        elif len(kinds) == 2 and isinstance(kinds[0], Kind) and kinds[1] in NUMBERS:
            self.fast[kinds[0], kinds[1]] = compiled

    def _make(self, values: Sequence[Any]) -> CompiledFormula:
        compute = self.compute_dtype(values)
        result = cast.result_dtype(self.result, compute)
        ins, mapping, copied = list[tuple[str, str]](), dict[Expr, Expr](), list[int]()
        below = compute.name if compute is not dt.opmath(compute) else None
        for name, value in zip(self.operands, values, strict=True):
            own = value._kind.dtype if isinstance(value, Tensor) else dt.opmath(compute)
            if name in self.wide and not getattr(value, "ndim", 0):
                below = None
            if own is not compute and name in self.promoting and isinstance(value, Tensor):
                copied.append(len(ins))
            if own is not compute and (name in self.narrow or len(ins) in copied):
                mapping[symbol(name)] = m.cast(symbol(name), arg=below or dt.opmath(compute).name)
            ins.append((name, own.name))
        root = substitute(self.root, mapping) if mapping else self.root
        root = narrowed(root, below)
        numbers = {name for name, v in zip(self.operands, values, strict=True) if not isinstance(v, Tensor)}
        # To a number; of float16, PyTorch has the general power alone.
        powers = [
            n
            for n in toposort([root])
            if n.op == "pow" and compute is not dt.float16 and (numbers.issuperset(inputs([n.src[1]])))
        ]
        root = substitute(root, {n: m.power(*n.src) for n in powers})
        kernel = pointwise((root,), tuple(ins), (result.name,))
        on_meta, backend = any(isinstance(v, Tensor) and v._kind.on_meta for v in values), backend_of(values)
        if on_meta or backend is not None:
            refuse_devices(values, pointwise=on_meta)
        out = kind(result, META if on_meta else CPU if backend is None else backend.where)
        complex_ = compute.is_complex
        nodes = node_names.variant(
            self.nodes, self.label, {**self.fixed, **dict(zip(self.operands, values, strict=True))}
        )
        there = [isinstance(v, Tensor) and v._kind.backend is not None for v in values]
        return CompiledFormula(
            kernel,
            out,
            dt.opmath(compute).np,
            complex_,
            nodes[complex_] if self.smooth else None,
            copied,
            [
                k
                for k, name in enumerate(self.operands)
                if name not in self.promoting and not isinstance(values[k], Tensor)
            ],
            there,
            sum([isinstance(v, Tensor) for v in values]),
        )

    def compute_dtype(self, values: Sequence[Any], kernel: bool = True) -> dt.dtype:
        """The dtype that these operands are computed in; refuses what PyTorch does, its kernel or not."""
        ranks = []
        for name, v in zip(self.operands, values, strict=True):
            if name not in self.promoting:
                continue
            if isinstance(v, Tensor):
                ranks.append((cast.DIMS if v._geometry.ndim else cast.ZERO, v._kind.dtype))
            else:
                ranks.append((cast.NUMBER, of_number(v)))
        common = cast.common_dtype(ranks)
        refuse = self.refuse if backend_of(values) is None else refused_on_cuda(self.name, self.refuse)
        check_dtype({k: text for k, text in refuse.items() if "implemented for '" not in text}, common)
        if kernel:
            broadcast_shapes(*[v._geometry.shape for v in values if isinstance(v, Tensor)])
            check_dtype(refuse, common)
        return cast.compute_dtype(self.dtypes, common)

    # --- running --------------------------------------------------------------------------------

    def __call__(self, *values: Any) -> Tensor:
        """The result as a fresh tensor, recorded where a gradient is tracked."""
        if TAPE or heard(values):
            handler = self._handler_of(values)
            if handler is not None:
                return handler(self, values)
        elif not LOCAL.enabled:
            t = self._small_of_one_kind(values)
            if t is not None:
                return t
        compiled = self.compiled_for(values)
        if compiled.result_kind.backend is not None:
            # What a row's body made on the CPU, and what nodes keep, is copied to the device.
            values = tuple(brought(compiled.result_kind, values))
            compiled = self.compiled_for(values)
        arrays = [v._array if isinstance(v, Tensor) else scalar(v, compiled.scalar_np) for v in values]
        if compiled.result_kind.on_meta:
            t = wrap(_meta_array(compiled, arrays), compiled.result_kind)
        else:
            t = wrap(self.compute(compiled, arrays), compiled.result_kind)
            if TAPE:
                TAPE[-1].run(partial(self.compute, compiled), (arrays,), t, values)
        if LOCAL.enabled:
            for v in values:
                if isinstance(v, Tensor) and v._grad_node is not None:
                    self.record(compiled, t, values)
                    break
        return t

    def _small_of_one_kind(self, values: Sequence[Any]) -> Tensor | None:
        """The result of small tensors of one kind that lie densely, as gradients mostly are; else None."""
        of = values[0]._kind if values[0].__class__ is Tensor else None
        compiled = self.fast.get(of)
        if compiled is None or compiled.result_kind.backend is not None:
            return None
        arrays = []
        for v in values:
            if v.__class__ is not Tensor or v._kind is not of:
                return None
            a = v._array
            if not a.flags.c_contiguous or a.size >= BIG:
                return None
            arrays.append(a)
        try:
            return wrap(compiled.fn(*arrays), compiled.result_kind)
        except ValueError:
            return None  # said by the general way

    def _handler_of(self, values: Sequence[Any]) -> Callable[[Formula, Any], Tensor] | None:
        """Who computes it in place of this formula: a level, a listener below autograd, or compile()."""
        if WRAPPED:
            if MODES and wrapped(values):
                return lambda formula, values: interpret(formula, formula, values, {})
            if MODES and any([hasattr(mode, "hears_rows") for mode in STACK.modes]):  # and no formulas
                return service("formula by ops")
            if LISTENING in WRAPPED:
                listener: Callable[[Formula, Any], Tensor] | None
                listener = service("formula heard below autograd")(values)
                if listener is not None:
                    return listener
        mode = matching() if TAPE and MODES else None
        if mode is None:
            return None
        matched: Callable[[Formula, Any], Tensor] = mode.matched_formula
        return matched if STACK.modes[-1] is mode else partial(under, mode, matched)

    @staticmethod
    def compute_ordered(compiled: CompiledFormula, seen: Any, arrays: tuple[Array, ...]) -> Any:
        """`compute` of operands that do not all lie in C's order, sooner where the result is small; seen:
        shape, strides and bytes of an element of each.
        """
        of = compiled.result_kind
        if of.backend is None:
            out = in_order(*order_of(seen, compiled.copied, compiled.beside), of.np)
            if out.size < BROAD:
                return compiled.fn(*arrays, out=out)
        return Formula.compute(compiled, arrays)

    @staticmethod
    def compute_large(compiled: CompiledFormula, *arrays: Array) -> Any:
        """`compute` of one large operand, and numbers."""
        return Formula.compute(compiled, arrays) if may_differ(arrays[0]) else compiled.large(*arrays)

    @staticmethod
    def compute_large_pair(compiled: CompiledFormula, x: Array, y: Array) -> Any:
        """`compute` of two operands, or of one and a number, that are large together."""
        return Formula.compute(compiled, (x, y)) if may_differ_of_two(x, y) else compiled.large(x, y)

    @staticmethod
    def compute(compiled: CompiledFormula, arrays: Sequence[Array]) -> Any:
        """Run the kernel; broadcasting errors are PyTorch's."""
        try:
            of, out = compiled.result_kind, None
            if of.backend is None:
                out = result_memory(arrays, of.np, compiled.copied, compiled.beside)
            sizes = [a.size for a in arrays]
            most = max(sizes)
            large = most >= BROAD and (most >= BIG or broad(arrays[sizes.index(most)], arrays))
            run = compiled.large if large else compiled.fn
            return run(*arrays) if out is None else run(*arrays, out=out)
        except ValueError:
            broadcast_shapes(*(a.shape for a in arrays))
            raise

    def write_result(self, target: Tensor, values: Sequence[Any]) -> None:
        """Write the result into `target`'s memory (in-place variants)."""
        compiled = self.compiled_for(values)
        if compiled.result_kind.on_meta:
            refuse_devices((target, *values), pointwise=True)
            return
        arrays = [v._array if isinstance(v, Tensor) else scalar(v, compiled.scalar_np) for v in values]
        out = target._array
        self.write_arrays(compiled, target._kind, arrays, out)
        if TAPE:
            TAPE[-1].write(self.write_arrays, (compiled, target._kind, arrays, out), (*values, target))

    def try_write_result(self, values: Sequence[Any], out: Tensor) -> bool:
        """`write_result` for a tensor that is like the result, while nobody listens; whether it was."""
        if TAPE or heard((*values, out)):
            return False
        compiled, to = self.compiled_for(values), out._array
        if compiled.result_kind is not out._kind or compiled.result_kind.off_cpu or out._kind.lazy:
            return False
        arrays = [v._array if isinstance(v, Tensor) else scalar(v, compiled.scalar_np) for v in values]
        if to.shape != broadcast_shapes(*[a.shape for a in arrays]):
            return False
        check_apart_from_itself(to)
        self.write_arrays(compiled, out._kind, arrays, to)
        return True

    def write_arrays(self, compiled: CompiledFormula, of: Kind, arrays: list[Array], out: Array) -> None:
        """`write_result` on arrays; `of` is the kind of what is written to."""
        if compiled.result_kind is not of:
            out[...] = self.compute(compiled, arrays)
        elif out.size >= BIG:
            compiled.large(*arrays, out=out)
        else:
            compiled.fn(*arrays, out=out)

    # --- gradients ------------------------------------------------------------------------------

    def record(self, compiled: CompiledFormula, t: Tensor, values: Sequence[Any]) -> None:
        """Leave a node behind for the result `t`."""
        if compiled.node is None:
            return
        node = new(compiled.node)
        edges: list[Any] = []
        wanted, bit, same = 0, 1, True
        shape, of = t._geometry.shape, t._kind
        for v in values:
            if v.__class__ in NUMBERS:
                edges.append(None)
            else:
                g = v._grad_node
                if g is None:
                    edges.append(None)
                else:
                    edges.append((g, v._output_nr))
                    wanted |= bit
                    if v._kind is not of or v._geometry.shape != shape:
                        same = False
            bit += bit
        node.next = tuple(edges)
        node.seq = next_seq()
        node.hooks = None
        saved = compiled.saved_by_wanted.get(wanted)
        if saved is None:
            saved = compiled.saved_by_wanted[wanted] = self._what_is_saved(
                node.next, compiled.complex_, values
            )
        kept = saved.kept(t, *values) if saved else ()
        node.saved = saved, kept, None if same else [place(v, shape) for v in values]
        t._grad_node = node
        if TRACES.record is not None:
            if TRACES.asked:
                TRACES.how = NodeFactory(self, compiled, node), t, values
            TRACES.record(node)

    def record_pair(self, compiled: CompiledFormula, t: Tensor, a: Tensor, b: Any, g: Any) -> None:
        """`record` for two operands of one kind, or a tensor and a number; `g` is b's node."""
        cls = compiled.node
        if cls is None:
            return
        node, first, shape = new(cls), a._grad_node, t._geometry.shape
        if first is None:
            node.next, wanted = (None, (g, b._output_nr)), 2
        elif g is None:
            node.next, wanted = ((first, a._output_nr), None), 1
        else:
            node.next, wanted = ((first, a._output_nr), (g, b._output_nr)), 3
        node.seq = next_seq()
        node.hooks = None
        saved = compiled.saved_by_wanted.get(wanted)
        if saved is None:
            saved = compiled.saved_by_wanted[wanted] = self._what_is_saved(
                node.next, compiled.complex_, (a, b)
            )
        same = a._kind is t._kind and a._geometry.shape == shape and (g is None or b._geometry.shape == shape)
        kept = saved.kept(t, a, b) if saved else ()
        node.saved = saved, kept, None if same else [place(v, shape) for v in (a, b)]
        t._grad_node = node
        if TRACES.record is not None:
            if TRACES.asked:
                TRACES.how = NodeFactory(self, compiled, node), t, (a, b)
            TRACES.record(node)

    def _what_is_saved(self, edges: tuple[Any, ...], complex_: bool, values: Sequence[Any]) -> SavedOperands:
        names = self.saves(edges, complex_)
        places = [-1 if n == "result" else self.operands.index(n) for n in names]
        variants = [None if e is None else self.variant(i, complex_, names) for i, e in enumerate(edges)]
        return saved_operands(names, places, [v.__class__ in NUMBERS for v in values], variants)

    def saves(self, edges: tuple[Any, ...], complex_: bool) -> tuple[str, ...]:
        """SavedOperands that the wanted gradients mention."""
        key = (complex_, *[e is not None for e in edges])
        found = self._saves.get(key)
        if found is None:
            names: dict[str, None] = {}
            for i, e in enumerate(edges):
                if e is not None:
                    names.update(dict.fromkeys(self.gradient(i, complex_)[1]))
            names.pop("grad", None)
            found = self._saves[key] = tuple(names)
        return found

    def gradient(self, number: int, complex_: bool) -> tuple[Any, tuple[str, ...]]:
        """The gradient of one operand, a Formula, SimpleGradient or NoGradient; and what of (grad, result,
        operands) it reads, by name.
        """
        key = (number, complex_)
        found = self._gradients.get(key)
        if found is None:
            found = self._gradients[key] = self._derive(number, complex_)
        return found

    def variant(self, number: int, complex_: bool, names: tuple[str, ...]) -> tuple[Any, tuple[int, ...]]:
        """`gradient` of one operand for nodes that kept what bears these names; entered into `variants`."""
        formula, uses = self.gradient(number, complex_)
        order = ("grad", *names)
        found = formula, tuple([order.index(u) for u in uses])
        self.variants.setdefault((names, complex_), [None] * len(self.operands))[number] = found
        return found

    def _derive(self, number: int, complex_: bool) -> tuple[Any, tuple[str, ...]]:
        name = self.operands[number]
        try:
            if name in self.declared and not complex_:
                expression = self.declared[name]
            else:
                expression = vjp.differentiate(self.root, [symbol(name)], complex_)[0]
        except NotImplementedError as error:
            return NoGradient(str(error)), ("grad",)
        if expression is vjp.GRAD:
            return INCOMING, ("grad",)
        if expression.op == "const":
            return ZERO, ("grad",)
        conditions = [n for n in self.operands if n not in self.promoting]
        return gradient_formula(f"{self.name}_backward", expression, conditions)


class NodeFactory:
    """Makes a node like another, for another result and other operands of the same kinds and shapes.

    cls: the node's class. wanted: which operands have edges. names: what its rule reads; kept: of each, the
    number of the operand, or -1 for the result. places: as in SavedByFormula.
    """

    def __init__(self, formula: Formula, compiled: CompiledFormula, node: Any) -> None:
        self.formula, self.compiled, self.cls = formula, compiled, compiled.node
        self.wanted = [e is not None for e in node.next]
        saved = SavedByFormula(*node.saved)
        self.names, self.places = saved.operands, saved.places
        self.kept = [-1 if n == "result" else formula.operands.index(n) for n in self.names]

    def __call__(self, t: Tensor, values: Sequence[Any]) -> None:
        """Leave a node behind for the result `t`."""
        self.formula.record(self.compiled, t, values)


def _unused(name: str, taken: Sequence[str]) -> str:
    """`name` with a number that makes it none of the taken names."""
    number = 1
    while f"{name}{number}" in taken:
        number += 1
    return f"{name}{number}"


def gradient_formula(
    name: str, expression: Expr, conditions: Sequence[str] = ()
) -> tuple[Formula, tuple[str, ...]]:
    """A derived gradient as a Formula, and what its operands are called in the expression.

    The gradient formula has a gradient and a result of its own: "grad" and "result" must mean
    those when it is differentiated again, so its operands of these names are called otherwise.
    """
    names = tuple(inputs([expression]))
    fresh = {n: _unused(n, names) if n in ("grad", "result") else n for n in names}
    expression = substitute(expression, {symbol(n): symbol(f) for n, f in fresh.items()})
    promoting = [fresh[n] for n in names if n not in conditions]
    return Formula(name, expression, tuple(fresh.values()), promoting=promoting), names


def _forget() -> None:
    """Entries hold result dtypes, which depend on the default dtype."""
    for formula in list(_all):
        formula.compiled_by_kinds.clear()
        formula.fast.clear()


dt.on_default_change.append(_forget)


def _meta_array(compiled: CompiledFormula, arrays: list[Array]) -> Array:
    """What `compute` gives, without data."""
    shape = broadcast_shapes(*(a.shape for a in arrays))
    if all([a.flags.c_contiguous for a in arrays]):
        return meta_array(shape, compiled.result_kind.np)
    sizes, turned = result_order(arrays, compiled.copied, compiled.beside)
    made = meta_array(sizes, compiled.result_kind.np)
    return made if turned is None else made.transpose(turned)
