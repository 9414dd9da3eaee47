"""Reduce rows: run over NumPy's own reductions, gradients by the monoid."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import gcd, prod
from typing import Any

import numpy as np

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import check_size, wrap_dim, wrap_dims
from rushlight._engine.core.layout import as_tuple, reduced_sizes, spread
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.recording import TAPE, decides, fusing, off_host
from rushlight._engine.derive import cast, vjp
from rushlight._engine.derive.reference import program
from rushlight._engine.dispatch.generated_code import forget, keep
from rushlight._engine.dispatch.interpreters import PLAIN, heard
from rushlight._engine.dispatch.nodes.declared import Rules
from rushlight._engine.dispatch.runners.formulas import Formula, gradient_formula
from rushlight._engine.dispatch.runners.refused_dtypes import check_dtype
from rushlight._engine.kernels.loops.elementwise import PARALLEL
from rushlight._engine.ops.creation.copying import converted
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.linalg.matmul import conjugate
from rushlight._engine.ops.monoid import Reduction
from rushlight._engine.ops.row_expressions import reduce_
from rushlight._engine.ops.row_kernels import SUMMED
from rushlight._engine.ops.table import REFUSALS, ROWS, Row
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]
UFUNCS = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}
# Large arrays of these dtypes are reduced by generated kernels.
MACHINE, BIG = frozenset(("float32", "float64", "bfloat16", "float16")), SUMMED
X, ACC, COUNT = symbol("input"), symbol("combined"), symbol("count")
_SUM = Reduction("add", X)
_HALVES = frozenset(("bfloat16", "float16"))
# Integers whose sums are of machine code, and elements of a line of those that are all added up.
_WHOLE, _LINE = frozenset(("bool", "uint8", "int8", "int16", "int32", "int64")), 1 << 12


ArrayFunction = Callable[[Array], Array]


class Reducer:
    """A reduce row for given extra attributes: its meaning, its execution, its gradient."""

    def __init__(self, row: Row, extras: tuple[Any, ...]) -> None:
        self.row = row
        self.meaning: Reduction = row.body(X, *extras)
        finish = self.meaning.finish
        self.finish: Expr | None = None if finish is None else finish(ACC, COUNT)
        self._plans: dict[Any, ArrayFunction] = {}
        forget(self._plans)
        self._map_gradient: tuple[Formula, tuple[str, ...], bool] | None = None
        self._finish_gradient: tuple[Formula, tuple[str, ...]] | None = None

    def dtypes(self, given: dt.dtype, asked: dt.dtype | None) -> tuple[dt.dtype, dt.dtype]:
        """(dtype to compute in, dtype of the result)."""
        rule = self.row.dtypes
        if asked is not None:
            if rule == "float" and asked.category < dt.FLOATING:
                raise RuntimeError(
                    f"{self.row.name}(): could not infer output dtype. Optional dtype must be either a "
                    f"floating point or complex dtype. Got: {asked.legacy}"
                )
            return asked, asked
        if rule == "sum":
            d = dt.int64 if given.category < dt.FLOATING else given
            return d, d
        if rule == "bool":
            return given, dt.uint8 if given is dt.uint8 else dt.bool_
        if rule == "float" and given.category < dt.FLOATING:
            raise RuntimeError(
                f"{self.row.name}(): could not infer output dtype. Input dtype must be either a floating "
                f"point or complex dtype. Got: {given.legacy}; convert with .float() or pass dtype="
            )
        if rule == "default_float":
            given = cast.compute_dtype("float", given)
        return given, cast.result_dtype(self.row.result, given)

    def run(
        self, a: Array, axes: tuple[int, ...], keepdim: bool, compute: dt.dtype, result: dt.dtype
    ) -> Array:
        """The reduction of an array over `axes`."""
        token = hush()
        try:
            return np.asarray(self.resolve(a, axes, keepdim, compute, result)(a))
        finally:
            restore(token)

    def resolve(
        self, a: Array, axes: tuple[int, ...], keepdim: bool, compute: dt.dtype, result: dt.dtype
    ) -> ArrayFunction:
        """The plan of arrays laid out as `a`; it may give a number for an array of no dims."""
        key = a.dtype, a.shape, a.strides, axes, keepdim, compute, result
        found = self._plans.get(key)
        if found is None:
            found = self._resolve(a, axes, keepdim, compute, result)
            keep(self._plans, key, found)
        return found

    def _resolve(
        self, a: Array, axes: tuple[int, ...], keepdim: bool, compute: dt.dtype, result: dt.dtype
    ) -> ArrayFunction:
        total: ArrayFunction | None = None
        wider = compute is dt.float32 and a.dtype.name in _HALVES  # what is asked for is the arithmetic's
        if (wider or a.dtype == compute.np) and compute.name in MACHINE and a.size >= BIG:
            total = _machine_plan(self.meaning, a, axes, keepdim, compute)
        elif compute is dt.int64 and self.meaning == _SUM and a.size >= BIG and a.dtype.kind in "biu":
            total = _whole_sum(a, axes, keepdim)
        total, finish, to = total or self._by_numpy(a, axes, keepdim, compute), None, result.np
        if not (a.flags.c_contiguous and a.size):  # whose order of dims NumPy would keep
            by_numpy = total
            left = reduced_sizes(a.shape, axes, keepdim)

            def total(a: Array) -> Any:
                found = np.asarray(by_numpy(a), order="C")
                return found.reshape(-1).reshape(left) if 1 in left else found  # which have NumPy's strides

        if self.finish is None and self.row.dtypes != "bool" and dt.opmath(compute) is result:
            return total
        if self.finish is not None:
            work = dt.opmath(compute)
            count = np.array(prod([a.shape[i] for i in axes]), work.np)
            finish = program((self.finish,), (("combined", work.name), ("count", work.name)), work.name)

        def reduce(a: Array) -> Array:
            acc = total(a)
            if finish is not None:
                acc = finish([acc, count])[0]
            if acc.__class__ is not np.ndarray:
                acc = np.asarray(acc)
            return acc if acc.dtype == to else acc.astype(to)

        return reduce

    def _by_numpy(
        self, like: Array, axes: tuple[int, ...], keepdim: bool, compute: dt.dtype
    ) -> ArrayFunction:
        """NumPy's reduction of what elements mean."""
        combine, work = self.meaning.combine, dt.opmath(compute)
        reduce: Any = UFUNCS[combine].reduce
        of = work.np if combine in ("add", "mul") else None
        to = None if like.dtype == compute.np or combine in ("any", "all") else compute.np
        mapped = (
            None
            if self.meaning.map is X or combine in ("any", "all")
            else program((self.meaning.map,), (("input", compute.name),), work.name)
        )

        if mapped is to is None and of is not None and like.dtype.name in _HALVES:
            # Widened at once: NumPy does it element by element.
            widened = self._by_numpy(np.empty(like.shape, of), axes, keepdim, work)
            return lambda a: widened(converted(a, np.empty(a.shape, of)))
        if combine in ("any", "all") and like.dtype == np.bool_ and axes == (like.ndim - 1,):
            wide = f"u{like.shape[-1]}"
            if like.flags.c_contiguous and wide in _WORDS:
                return lambda a: _flags(a, combine, wide, keepdim)
        if to is mapped is None:
            # few programs that only have small tensors compile
            from rushlight._engine.kernels.runtime import small_calls

            same = of is None or of == like.dtype
            found = None
            if same and combine == "add":
                found = small_calls.sums(like, axes, keepdim)
            if same and found is None:
                found = small_calls.reduction(UFUNCS[combine], like, axes, keepdim)
            if found is not None:
                return found
            if len(axes) == like.ndim and not keepdim:  # an array, not a number
                return lambda a: reduce(a, axes, of, np.empty((), of or compute.np), False)
            return lambda a: reduce(a, axes, of, None, keepdim)

        def total(a: Array) -> Any:
            a = a if to is None else a.astype(to)
            return reduce(a if mapped is None else mapped([a])[0], axes, of, None, keepdim)

        return total

    def keeps(self) -> frozenset[str]:
        """What `gradient` reads: a sum's needs neither the operand nor the result."""
        if self.meaning.combine != "add":
            return frozenset(("input", "result"))
        finish = self._finish_rule()[1] if self.finish is not None else ()
        read = {"input": self.meaning.map is not X, "result": "result" in finish}
        return frozenset(n for n in read if read[n])

    def gradient(
        self, shape: tuple[int, ...], x: Any, result: Any, g: Tensor, axes: tuple[int, ...], keepdim: bool
    ) -> Tensor:
        """The gradient of the operand, of `shape`; x and result are None where `keeps` does not name them."""
        combine = self.meaning.combine
        if combine == "add" and self.finish is None and self.meaning.map is X:
            return _spread(_with_axes(g, shape, axes, keepdim) if g._geometry.ndim else g, shape)
        g = _with_axes(g, shape, axes, keepdim)
        result = None if result is None else _with_axes(result, shape, axes, keepdim)
        count = prod([shape[i] for i in axes])
        if self.finish is not None:
            g = self._through_finish(g, result, count)
        if combine == "add":
            return self._through_map(x, _spread(g, shape))
        if combine in ("max", "min"):
            mask = x == result
            # nan is the extreme where there is one, and unequal to itself; without transforms one may look.
            unseen = LOCAL.enabled or heard((x, result)) or result._kind.on_meta or fusing()
            if unseen or np.isnan(result._array).any():
                mask = mask | (x.isnan() & result.isnan())
            mask = mask.to(g.dtype)
            found: Tensor = mask * (g / mask.sum(axes, True))
            return found
        return product_gradient(x, result, g, axes)

    def _finish_rule(self) -> tuple[Formula, tuple[str, ...]]:
        if self._finish_gradient is None:
            expression = vjp.differentiate(self.finish, [ACC])[0]  # type: ignore[arg-type]
            self._finish_gradient = gradient_formula(f"{self.row.name}_backward", expression)
        return self._finish_gradient

    def _through_finish(self, g: Tensor, result: Any, count: int) -> Tensor:
        formula, names = self._finish_rule()
        env = {"grad": g, "result": result, "count": float(count)}
        return formula(*[env[n] for n in names])

    def _through_map(self, x: Any, g: Tensor) -> Tensor:
        if self.meaning.map is X:
            return g
        complex_ = x._kind.dtype.is_complex
        if self._map_gradient is None or self._map_gradient[2] is not complex_:
            expression = vjp.differentiate(self.meaning.map, [X], complex_)[0]
            made = gradient_formula(f"{self.row.name}_backward", expression)
            self._map_gradient = *made, complex_
        formula, names, _ = self._map_gradient
        mapped = Formula(self.row.name, self.meaning.map, ("input",)) if "result" in names else None
        env = {"grad": g, "input": x, "result": mapped(x) if mapped is not None else None}
        return formula(*[env[n] for n in names])


def _whole_sum(a: Array, axes: tuple[int, ...], keepdim: bool) -> ArrayFunction | None:
    """The sums of dense integers of any size, in int64: along rows, or all. None for others."""
    # a program that only has small tensors needs no compiler
    from rushlight._engine.kernels.loops import rows

    of, lead = a.dtype.name, a.ndim - len(axes)
    if of not in _WHOLE or not a.flags.c_contiguous or tuple(sorted(axes)) != tuple(range(lead, a.ndim)):
        return None
    added = reduce_("add", X if of == "int64" else m.cast(X, arg="int64"))
    each = rows.rows((added,), (("input", of, "vector"),), ("int64",))
    shape = reduced_sizes(a.shape, axes, keepdim)
    seen = (prod(a.shape[:lead]), prod(a.shape[lead:]))
    if lead:
        return lambda a: each.large(a.reshape(seen)).reshape(shape)
    whole = a.size - a.size % _LINE

    def everything(a: Array) -> Array:
        flat = a.reshape(-1)
        total = np.add.reduce(each.large(flat[:whole].reshape(-1, _LINE)))
        return np.asarray(total + np.add.reduce(flat[whole:], None, np.int64)).reshape(shape)

    return everything


# Rows of so many flags are one number.
_WORDS = frozenset(("u2", "u4", "u8"))


def _flags(a: Array, combine: str, wide: str, keepdim: bool) -> Array:
    """Whether any flag of a short row is set, or all are."""
    seen = (a if combine == "any" else np.logical_not(a)).view(wide)
    found: Array = np.not_equal(seen, 0) if combine == "any" else np.equal(seen, 0)
    return found if keepdim else found.reshape(a.shape[:-1])


def _machine_plan(
    meaning: Reduction, a: Array, axes: tuple[int, ...], keepdim: bool, compute: dt.dtype
) -> Callable[[Array], Array] | None:
    """The reduction of arrays laid out as `a` by a generated kernel; None where there is none."""
    # Here, since a program that only has small tensors needs no compiler.
    from rushlight._engine.kernels.loops import full_reductions, rows

    given, work = dt.from_numpy_dtype(a.dtype).name, dt.opmath(compute).name
    kind, mapped, n, lead = meaning.combine, meaning.map, a.ndim, a.ndim - len(axes)
    ordered, whole = tuple(sorted(axes)), a.flags.c_contiguous
    shape = reduced_sizes(a.shape, axes, keepdim)
    if not lead and (whole or a.flags.f_contiguous):
        total = full_reductions.full(kind, mapped, (("input", given),), work).plan(a.size)
        if whole and not shape:
            return total
        return lambda a: total(a if whole else a.T).reshape(shape)
    in_rows, in_columns = ordered == tuple(range(lead, n)), ordered == tuple(range(n - lead))
    usual = whole and (in_rows or (in_columns and kind == "add"))
    if lead and not usual and given in ("float32", "float64"):
        found = _by_memory(meaning, a, axes, given, shape)
        if found is not None:
            return found
    if lead and in_rows and (whole or lead == n - 1):
        each = rows.rows((reduce_(kind, mapped),), (("input", given, "vector"),), (work,))
        seen = (*a.shape[:lead], prod(a.shape[lead:]))
        plain = whole and mapped is X and given in ("float32", "float64")
        found = _plain_rows(kind, np.dtype(given), (prod(seen[:-1]), seen[-1]), shape) if plain else None
        if found is not None:
            return found
        # Few rows are summed before other threads are awake.
        run = each.large if a.size >= PARALLEL else each
        return lambda a: run(a.reshape(seen)).reshape(shape)
    if kind == "add" and whole and lead and in_columns:
        matrix = (prod(a.shape[: n - lead]), prod(a.shape[n - lead :]))
        if matrix[1] == 1:
            line = _machine_plan(meaning, a.reshape(-1), (0,), False, compute)
            return line and (lambda a: np.asarray(line(a.reshape(-1))).reshape(shape))
        sums = _column_sums(mapped, given, work, matrix)
        return lambda a: sums(a.reshape(matrix)).reshape(shape)
    order = tuple(sorted(range(n), key=lambda d: -a.strides[d]))
    if kind == "add" and lead == 1 and order[-1] not in axes and a.transpose(order).flags.c_contiguous:
        return _sums_by_channel(mapped, (given, work), order, a, shape)
    return None


def _column_sums(mapped: Expr, given: str, work: str, matrix: tuple[int, int]) -> ArrayFunction:
    """The sums of a dense matrix's columns."""
    # a program that only has small tensors needs no compiler
    from rushlight._engine.kernels.loops import columns, columns_in_registers

    found = None
    if mapped is X:
        stored = "" if given == work else given
        found = columns_in_registers.sums_of(np.dtype(work), *matrix, stored)
    return found or columns.columns((mapped,), (("input", given, "matrix"),), (work,)).large


def _by_memory(
    meaning: Reduction, a: Array, axes: tuple[int, ...], of: str, shape: tuple[int, ...]
) -> ArrayFunction | None:
    """The reduction of dense arrays in any order of dims: neighbours in memory that are reduced, or kept, are
    one dim. None where these are others than rows, columns, or columns of several matrices or of rows.
    """
    order = sorted(range(a.ndim), key=lambda d: (-a.strides[d], d))
    if not a.transpose(order).flags.c_contiguous:
        return None
    runs: list[list[int]] = []  # whether they are reduced, and how many there are
    for d in order:
        if a.shape[d] != 1:
            if runs and runs[-1][0] == (d in axes):
                runs[-1][1] *= a.shape[d]
            else:
                runs.append([d in axes, a.shape[d]])
    way = _WAYS.get(tuple([bool(reduced) for reduced, _ in runs]))
    if way is None or (way is _columns and meaning.combine == "mul"):
        return None
    sizes = tuple([size for _, size in runs])
    run = way(meaning, of, sizes)
    kept = [d for d in order if d not in axes]
    turned = tuple(sorted(range(len(kept)), key=kept.__getitem__))
    lying = tuple([a.shape[d] for d in kept])
    if order == [*range(a.ndim)]:
        return lambda a: run(a.reshape(sizes)).reshape(shape)

    def total(a: Array) -> Array:
        found = run(a.transpose(order).reshape(sizes)).reshape(lying)
        return np.ascontiguousarray(found.transpose(turned)).reshape(shape)

    return total


def _rows(meaning: Reduction, of: str, sizes: tuple[int, ...]) -> ArrayFunction:
    """(rows, elements) to (rows)."""
    # a program that only has small tensors needs no compiler
    from rushlight._engine.kernels.loops import rows

    matrix = sizes[0], sizes[1]
    found = _plain_rows(meaning.combine, np.dtype(of), matrix, sizes[:1]) if meaning.map is X else None
    if found is not None:
        return found
    each = rows.rows((reduce_(meaning.combine, meaning.map),), (("input", of, "vector"),), (of,))
    return lambda a: each.large(a) if a.size >= PARALLEL else each(a)


def _columns(meaning: Reduction, of: str, sizes: tuple[int, ...]) -> ArrayFunction:
    """(rows, columns) to (columns), or of several such matrices."""
    # a program that only has small tensors needs no compiler
    from rushlight._engine.kernels.loops import columns, columns_in_registers

    *several, places, width = sizes
    combine, plain, times = meaning.combine, meaning.map is X, 1
    if combine in ("add", "max", "min"):
        times = gcd(places, 1 << max(0, (_WIDE // width).bit_length() - 1))
    matrices, down = (prod(several), places // times, times * width), None
    if combine in ("add", "max", "min") and (plain or combine != "add"):
        down = columns_in_registers.columns_of(combine, np.dtype(of), matrices)
    mapped, reduce = program((meaning.map,), (("input", of),), of), UFUNCS[combine].reduce
    if combine == "add":
        kernel = columns.columns((meaning.map,), (("input", of, "matrix"),), (of,))
        sums, seen = down or kernel.large, (*several, *matrices[1:])

        def total(a: Array) -> Array:
            parts: Array = sums(a.reshape(seen))
            return parts if times == 1 else parts.reshape(*several, times, width).sum(-2)

        return total
    again = None
    if down is not None and times > 1:
        again = columns_in_registers.columns_of(combine, np.dtype(of), (matrices[0], times, width))
    if down is None or (times > 1 and again is None):
        return lambda a: reduce(a if plain else mapped([a])[0], -2)

    def extreme(a: Array) -> Array:
        found = down(a if plain else mapped([a])[0])
        return (found if again is None else again(found)).reshape(*several, width)

    return extreme


def _columns_of_rows(meaning: Reduction, of: str, sizes: tuple[int, ...]) -> ArrayFunction:
    """(rows, columns, elements) to (columns)."""
    each, combine = _rows(meaning, of, (prod(sizes[:2]), sizes[2])), UFUNCS[meaning.combine].reduce
    return lambda a: combine(each(a.reshape(-1, a.shape[-1])).reshape(a.shape[:2]), 0)


# By which dims in memory are reduced.
_WAYS: dict[tuple[bool, ...], Callable[[Reduction, str, tuple[int, ...]], ArrayFunction]] = {
    (False, True): _rows,
    (True, False): _columns,
    (False, True, False): _columns,
    (True, False, True): _columns_of_rows,
}


_EXTREMES = {"max": np.maximum, "min": np.minimum}
# Elements of rows up to which several are a vector, and from which on columns take longer.
_SEVERAL, _MOST = 8, 16


def _plain_rows(kind: str, of: Any, matrix: tuple[int, int], shape: tuple[int, ...]) -> ArrayFunction | None:
    """What takes less for the rows of a dense matrix than the row kernel, with its bits: sums of several rows
    at once; and extremes of very short ones column by column, unless they fill a part of a vector.
    """
    # a program that only has small tensors needs no compiler
    from rushlight._engine.kernels.loops import rows_in_registers

    n = matrix[1]
    if n == 1 and kind in ("add", "max", "min"):  # a sum begins with 0, which -0 does not survive
        return lambda a: a.reshape(shape) + of.type(0) if kind == "add" else a.reshape(shape).copy()
    if kind == "add":
        sums = rows_in_registers.sums_of("add", of, *matrix)
        return sums and (lambda a: sums(a).reshape(shape))
    if kind not in _EXTREMES or n & (n - 1) == 0 or not _SEVERAL < n < _MOST:
        return None
    combine = _EXTREMES[kind]

    def extreme(a: Array) -> Array:
        rows = a.reshape(matrix)
        found = combine(rows[:, 0], rows[:, 1])
        for k in range(2, n):
            combine(found, rows[:, k], out=found)
        return found.reshape(shape)

    return extreme


# Elements up to which short rows are put together, all, and those of one of several matrices.
_LONG, _WIDE = 1 << 11, 1 << 8


def _sums_by_channel(
    mapped: Expr, dtypes: tuple[str, str], order: tuple[int, ...], like: Array, shape: tuple[int, ...]
) -> ArrayFunction:
    """The sums over all dims but the one that lies fastest (channels last): of some places side by side, then
    of those.
    """
    channels = like.shape[order[-1]]
    places = like.size // channels
    times = gcd(places, 1 << max(0, (_LONG // channels).bit_length() - 1))
    matrix = places // times, times * channels
    sums = _column_sums(mapped, *dtypes, matrix)

    def run(a: Array) -> Array:
        parts = sums(a.transpose(order).reshape(matrix))
        found: Array = np.add.reduce(parts.reshape(times, channels), 0).reshape(shape)
        return found

    return run


def _with_axes(t: Tensor, shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """A reduction's result with the reduced axes in their places, of size 1."""
    if keepdim or not axes:
        return t
    kept = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    if LOCAL.enabled or TAPE or t._kind.off_cpu or heard((t,)):
        return t.reshape(kept)
    return wrap(t._array.reshape(kept), t._kind)


def _spread(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    if LOCAL.enabled or t._kind.off_cpu or TAPE or heard((t,)):
        if TAPE and not LOCAL.enabled and t._geometry.size == 1:
            t = t.reshape(())  # or a dim of size 1 would keep its stride, which it has not below
        return t.expand(shape)
    return wrap(spread(t._array, shape), t._kind)


def product_gradient(x: Tensor, result: Tensor, g: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Of prod: the product of all other elements, which holds at zeros too."""
    if not axes:
        return g
    # Which way it is decides bits: it is not for compile(), which listens as a mode does, to change it.
    if not (LOCAL.enabled or hooks.LISTENING or {x.__class__, g.__class__} - PLAIN):
        decides("prod's gradient")
        if bool((x._array != 0).all()):
            quotient: Tensor = g * conjugate(result) / conjugate(x)
            return quotient
    # Exclusive products from both sides, over the reduced dims laid out as one.
    kept = [i for i in range(x._geometry.ndim) if i not in axes]
    order = (*kept, *axes)
    turned = x.permute(order)
    flat = turned.reshape(*[x._geometry.shape[i] for i in kept], -1)
    one = flat.new_ones((*flat.shape[:-1], 1))
    n = flat.shape[-1]
    cat = ROWS["cat"]
    before = cat([one, flat.narrow(-1, 0, n - 1)], -1).cumprod(-1) if n else flat
    behind = cat([one, flat.flip(-1).narrow(-1, 0, n - 1)], -1).cumprod(-1).flip(-1) if n else flat
    others = (before * behind).reshape(turned.shape)
    inverse = [order.index(i) for i in range(x._geometry.ndim)]
    others = others.permute(inverse)
    product: Tensor = g * conjugate(others)
    return product


class _GeneralReduction:
    """A reduce row on any operand; gives the result, and a plan if that is the whole way to it."""

    def __init__(self, row: Row) -> None:
        self.extras_count = row.body.__code__.co_argcount - 1
        self.row, self.reducers = row, dict[Any, Reducer]()
        # Attributes may change what an element means: then everything is kept.
        self.keeps = frozenset(("input", "result")) if self.extras_count else Reducer(row, ()).keeps()
        self.rules = Rules(row, row.vjp or self.rule, keeps=None if row.vjp else self.keeps)

    def rule(self, s: Any, grad: Any) -> Any:
        """The derived gradient."""
        extras = tuple(getattr(s, p.name) for p in self.row.params[1 : 1 + self.extras_count])
        x, result = (getattr(s, n) if n in self.keeps else None for n in ("input", "result"))
        shape = s.shape("input")
        axes = wrap_dims(s._values.get("dim"), len(shape))
        return self.reducers[extras].gradient(shape, x, result, grad, axes, s.keepdim)

    def __call__(self, t: Tensor, rest: tuple[Any, ...]) -> tuple[Tensor, Any]:
        extras, (dim, keepdim, *asked) = rest[: self.extras_count], rest[self.extras_count :]
        found = self.reducers.get(extras)
        if found is None:
            found = self.reducers[extras] = Reducer(self.row, extras)
        a, of = t._array, t._kind
        compute, result = found.dtypes(of.dtype, asked[0] if asked else None)
        if asked and asked[0]:
            check_dtype(REFUSALS.get(f"{self.row.name}/dtype", {}), result, a)
        if not a.size and found.meaning.combine in ("max", "min"):
            for d in (None,) if dim is None else as_tuple(dim) or (None,):
                check_size(self.row.name, a, d if d is None else wrap_dim(d, a.ndim))
        axes = () if self.row.dtypes == "bool" and dim == () else wrap_dims(dim, a.ndim)
        if of.on_meta:
            return wrap(_meta(a, axes, keepdim, result), kind(result, of.device)), None
        backend = of.backend
        if backend is not None:
            off_host("an op on a CUDA device")
            way, how = (
                partial(found.run, axes=axes, keepdim=keepdim, compute=compute, result=result),
                (axes, keepdim, compute, result),
            )
            out = wrap(backend.run_reduction(found, way, a, how))
            ready = backend.ready_reduction(found, a, how)
            return out, None if ready is None else Ready(
                ready, lambda a: backend.run_reduction(found, way, a, how)
            )
        out = wrap(found.run(a, axes, keepdim, compute, result))
        if TAPE:
            TAPE[-1].run(found.run, (a, axes, keepdim, compute, result), out, (t,))
        return out, found.resolve(a, axes, keepdim, compute, result)


class Ready:
    """A reduction on a device: `ready` is for arrays at multiples of 256 bytes, `slow` for all."""

    def __init__(self, ready: Callable[..., Any], slow: Callable[..., Any]) -> None:
        self.ready, self.slow = ready, slow

    def __call__(self, a: Any) -> Any:
        return self.slow(a) if a.address & 255 else self.ready(a)


def reduce_runner(row: Row) -> Callable[..., Any]:
    """The runner of a reduce row: (input, *extras, dim, keepdim[, dtype])."""
    once = _GeneralReduction(row)
    record = once.rules.record
    # Reductions seen before: (the arguments, a layout) -> (plan, kind of the result).
    seen: dict[Any, tuple[Any, Any]] = {}
    forget(seen)

    def run(t: Tensor, *rest: Any) -> Any:
        a = t._array
        key = rest, a.shape, a.strides, t._kind
        plan, of = seen.get(key, (None, None))
        if plan is None or TAPE:
            out, plan = once(t, rest)
            if plan is not None:
                keep(seen, key, (plan, out._kind))
        else:
            token = hush()
            try:
                out = wrap(plan(a), of)
            finally:
                restore(token)
        if t._grad_node is not None and LOCAL.enabled and out._kind.dtype.category >= dt.FLOATING:
            record((t, *rest), out)
        return out

    return run


def _meta(a: Array, axes: tuple[int, ...], keepdim: bool, result: dt.dtype) -> Array:
    return meta_array(reduced_sizes(a.shape, axes, keepdim), result.np)
