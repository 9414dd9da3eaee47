"""The text of attention's kernels, forward and backward, whose scores never lie in memory (arXiv:2205.14135).

By tensor cores (float16, bfloat16): a warp has 16 rows and goes through the other side 16 rows at a time;
products are of 16x16 by 16x8 matrices, which a warp's threads hold in parts (`Thread.mma` says how).
Plainly (float32): a warp has one row. Softmax is taken as the rows come: a running maximum, by which what
was summed is scaled.

All kernels have the parameters: pointers; `count` heads in all, `heads` of a batch, `rows` of queries,
`keys`, the scale's bits, and for each array its strides in bytes from batch to batch, head to head and row
to row. A grid's blocks stride over the tiles of rows of all heads; a block has whole warps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from rushlight._engine.devices.cuda.kernels.targets import TARGETS, WARP, Thread
from rushlight._engine.devices.cuda.kernels.writing import applied, from_bits, one, strided
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module, Variable
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import item_size, load, narrow, store
from rushlight._engine.ops.expressions import m, symbol

ROWS = 16
_LOW = "0xFFF0000000000000"  # minus infinity
_FORWARD = ("q", "k", "v", "out", "lse")
_TO_QUERY = ("q", "k", "v", "g", "lse", "to_q", "delta")
_TO_KEYS = ("q", "k", "v", "g", "lse", "delta", "to_k", "to_v")
_EXP = Meaning((m.exp(symbol("x")),), (("x", "float32"),), ("float32",), "float32")
_LOG = Meaning((m.log(symbol("x")),), (("x", "float32"),), ("float32",), "float32")


def arrays_of(kind: str) -> tuple[str, ...]:
    """The arrays of a kernel in order: of "forward", "to_query", "to_keys"."""
    return {"forward": _FORWARD, "to_query": _TO_QUERY, "to_keys": _TO_KEYS}[kind]


class _Kernel:
    """What the kernels have in common: heads, rows, numbers of a thread."""

    def __init__(self, kind: str, dtype: str, width: int, causal: bool, target: str) -> None:
        self.dtype, self.width, self.causal, self.item = dtype, width, causal, item_size(dtype)
        arrays = arrays_of(kind)
        numbers = ["count", "heads", "rows", "keys", "scale"]
        numbers += [f"{name}_{of}" for name in arrays for of in ("batch", "head", "row")]
        self.arrays, self.module = arrays, Module(fma=True)
        self.f: Thread = TARGETS[target](self.module, "kernel", arrays, numbers)
        f = self.f
        f.begin()
        self.scale = from_bits(f, "%scale", "float32")
        tid, self.threads = f.special("tid"), f.special("ntid")
        self.lane, self.warp = f.i64("and", tid, WARP - 1), f.i64("lshr", tid, 5)
        self.group, self.part = f.i64("lshr", self.lane, 2), f.i64("and", self.lane, 3)
        self.pair = f.i64("shl", self.part, 1)
        f.mark_early()

    def text(self) -> tuple[str, int]:
        """(the module, its barriers)."""
        self.f.emit("ret void")
        self.f.finish()
        return self.module.text(), self.f.barriers

    # --- numbers --------------------------------------------------------------------------------

    def number(self, scalar: str) -> Lane:
        """A float as a lane, which has operators."""
        return self.f.splat("float", scalar)

    def exp(self, x: Lane) -> Lane:
        """e to a power."""
        return applied(self.f, _EXP, x)

    def log(self, x: Lane) -> Lane:
        """The natural logarithm."""
        return applied(self.f, _LOG, x)

    def larger(self, a: Lane, b: Lane) -> Lane:
        """The larger number."""
        return (a > b).where(a, b)

    def chosen(self, condition: str, a: Lane, b: str) -> Lane:
        """`a` where an i1 is set, else a constant."""
        return self.number(self.f.op(f"select i1 {condition}, float {one(self.f, a)}, float {b}"))

    def both(
        self, a: Lane, b: Lane, distances: Sequence[int], how: Callable[[Lane, Lane], Lane]
    ) -> list[Lane]:
        """Each of two values, combined with those of the threads at distances."""
        found = []
        for x in (a, b):
            for distance in distances:
                x = how(x, self.number(self.f.shuffle("float", one(self.f, x), distance)))
            found.append(x)
        return found

    # --- places ---------------------------------------------------------------------------------

    def tiles(self, side: str, tall: str) -> _Tiles:
        """A loop over the tiles of `tall` rows of all heads; side: "rows" or "keys"."""
        return _Tiles(self, side, tall)

    def least(self, a: str, b: str) -> str:
        """The lesser of two numbers."""
        f = self.f
        return f.op(f"select i1 {f.i64('icmp slt', a, b)}, i64 {a}, i64 {b}")

    def row(self, base: str, name: str, number: str, last: str) -> str:
        """Where a row begins, or the last one where there is none of the number."""
        f = self.f
        return f.at(base, f.i64("mul", self.least(number, last), f"%{name}_row"))

    def valid(self, row: str, column: str) -> str:
        """An i1: whether a query looks at a key, and both are there."""
        f = self.f
        found = f.op(f"and i1 {f.i64('icmp slt', row, '%rows')}, {f.i64('icmp slt', column, '%keys')}")
        return f.op(f"and i1 {found}, {f.i64('icmp sle', column, row)}") if self.causal else found


class _Tiles:
    """One tile after another: `bases` of the arrays' heads, the tile's first row."""

    def __init__(self, kernel: _Kernel, side: str, tall: str) -> None:
        self.kernel, self.side, self.tall = kernel, side, tall

    def __enter__(self) -> tuple[dict[str, str], str]:
        k, f = self.kernel, self.kernel.f
        each = f.i64("udiv", f.i64("sub", f.i64("add", f"%{self.side}", self.tall), 1), self.tall)
        self.loop = strided(f, f.special("ctaid"), f.special("nctaid"), f.i64("mul", each, "%count"))
        tile = self.loop.__enter__()
        head = f.i64("udiv", tile, each)
        first = f.i64("mul", f.i64("sub", tile, f.i64("mul", head, each)), self.tall)
        batch, inner = f.i64("udiv", head, "%heads"), f.i64("urem", head, "%heads")
        bases = {}
        for name in k.arrays:
            offset = f.i64("add", f.i64("mul", batch, f"%{name}_batch"), f.i64("mul", inner, f"%{name}_head"))
            bases[name] = f.at(f"%{name}", offset)
        return bases, first

    def __exit__(self, *raised: object) -> None:
        self.loop.__exit__(None, None, None)


# --- by tensor cores --------------------------------------------------------------------------------


class _Cores(_Kernel):
    """Kernels whose products tensor cores compute; `width` is a multiple of 16."""

    def __init__(self, kind: str, dtype: str, width: int, causal: bool, target: str) -> None:
        super().__init__(kind, dtype, width, causal, target)
        self.steps, self.columns = width // 16, width // 8

    def word(self, row: str, place: str, more: int = 0) -> str:
        """Two neighbours of a row, from an element on."""
        f = self.f
        return f.load("i32", row, f.i64("mul", f.i64("add", place, more), self.item))

    def rows_of(self, base: str, name: str, first: str, last: str) -> tuple[str, str]:
        """The two rows that this thread holds of 16 that begin at `first`."""
        above, below = self.across(base, name, first, last)
        return above, below

    def left(self, rows: tuple[str, str], step: int) -> list[str]:
        """A left operand: 16 rows, 16 columns of them."""
        return [self.word(rows[i & 1], self.pair, 16 * step + 8 * (i >> 1)) for i in range(4)]

    def across(self, base: str, name: str, first: str, last: str) -> list[str]:
        """Where rows number `group` and `group + 8` from `first` on begin: this thread's of a left operand,
        or of two right operands whose columns are rows.
        """
        f = self.f
        return [
            self.row(base, name, f.i64("add", first, f.i64("add", self.group, 8 * half)), last)
            for half in (0, 1)
        ]

    def down(self, base: str, name: str, first: str, last: str) -> list[str]:
        """The rows that this thread holds of right operands whose rows are rows."""
        f = self.f
        places = (0, 1, 8, 9)
        return [
            self.row(base, name, f.i64("add", first, f.i64("add", self.pair, place)), last)
            for place in places
        ]

    def products(self, left: Callable[[int], list[str]], rows: list[str]) -> list[list[Lane]]:
        """The products of 16 rows with 16 others: two matrices of 16 by 8."""
        found = []
        for row in rows:
            total = ["0.0"] * 4
            for step in range(self.steps):
                right = [self.word(row, self.pair, 16 * step + 8 * half) for half in (0, 1)]
                total = self.f.mma(self.dtype, left(step), right, total)
            found.append([self.number(t) for t in total])
        return found

    def packed(self, a: Lane, b: Lane) -> str:
        """Two numbers, rounded, in a word."""
        f = self.f
        words = []
        for x in (a, b):
            stored = narrow(x, self.dtype)
            bits = stored.cast("bitcast", "i16") if self.dtype == "float16" else stored
            words.append(f.op(f"zext i16 {one(f, bits)} to i32"))
        return f.op(f"or i32 {words[0]}, {f.op(f'shl i32 {words[1]}, 16')}")

    def as_left(self, tiles: list[list[Lane]]) -> list[str]:
        """Two matrices of 16 by 8 as one left operand of 16 by 16."""
        return [self.packed(t[2 * i], t[2 * i + 1]) for t in tiles for i in (0, 1)]

    def add_up(self, totals: list[list[Variable]], left: list[str], rows: list[str]) -> None:
        """Add left @ (16 rows) to totals."""
        f = self.f
        for j, total in enumerate(totals):
            offset = f.i64("mul", f.i64("add", self.group, 8 * j), self.item)
            halves = [f.op(f"zext i16 {f.load('i16', row, offset)} to i32") for row in rows]
            right = [
                f.op(f"or i32 {halves[2 * i]}, {f.op(f'shl i32 {halves[2 * i + 1]}, 16')}") for i in (0, 1)
            ]
            for t, value in zip(total, f.mma(self.dtype, left, right, [t.get() for t in total]), strict=True):
                t.set(value)

    def zeros(self) -> list[list[Variable]]:
        """Totals of 16 rows."""
        return [[self.f.var("0.0", "float") for _ in range(4)] for _ in range(self.columns)]

    def keep(self, totals: list[list[Lane]], base: str, name: str, first: str, count: str) -> None:
        """Store 16 rows, of which `count` are there in all."""
        f = self.f
        for half in (0, 1):
            row = f.i64("add", first, f.i64("add", self.group, 8 * half))
            with f.when(f.i64("icmp slt", row, count)):
                place = f.at(base, f.i64("mul", row, f"%{name}_row"))
                for j, total in enumerate(totals):
                    offset = f.i64("mul", f.i64("add", self.pair, 8 * j), self.item)
                    f.store("i32", self.packed(*total[2 * half : 2 * half + 2]), place, offset)

    def places(self, first: str) -> list[str]:
        """The numbers of this thread's two rows in 16."""
        f = self.f
        return [f.i64("add", first, f.i64("add", self.group, 8 * half)) for half in (0, 1)]

    def column(self, first: str, tile: int, k: int) -> str:
        """The column that number k of this thread's four has in the matrix of 16 by 8 number `tile`."""
        return self.f.i64("add", first, self.f.i64("add", self.pair, 8 * tile + (k & 1)))


def _forward(k: _Cores) -> None:
    f = k.f
    tall = f.i64("lshr", k.threads, 1)
    last_row, last_key = f.i64("sub", "%rows", 1), f.i64("sub", "%keys", 1)
    with k.tiles("rows", tall) as (bases, tile):
        first = f.i64("add", tile, f.i64("mul", k.warp, ROWS))
        rows = k.rows_of(bases["q"], "q", first, last_row)
        queries = [k.left(rows, step) for step in range(k.steps)]
        totals = k.zeros()
        high, sums = ([f.var(x, "float") for _ in (0, 1)] for x in (_LOW, "0.0"))
        end = k.least("%keys", f.i64("add", tile, tall)) if k.causal else "%keys"
        with strided(f, "0", str(ROWS), end) as at:
            scores = k.products(lambda s: queries[s], k.across(bases["k"], "k", at, last_key))
            places = k.places(first)
            scores = [
                [
                    k.chosen(k.valid(places[i >> 1], k.column(at, t, i)), x * k.scale, _LOW)
                    for i, x in enumerate(tile_)
                ]
                for t, tile_ in enumerate(scores)
            ]
            tops = []
            for half in (0, 1):
                mine = [x for tile_ in scores for x in tile_[2 * half : 2 * half + 2]]
                top = mine[0]
                for x in mine[1:]:
                    top = k.larger(top, x)
                tops.append(top)
            tops = k.both(tops[0], tops[1], (1, 2), k.larger)
            weights: list[list[Lane]] = [[], []]
            for half in (0, 1):
                before = k.number(high[half].get())
                top = k.larger(before, tops[half])
                high[half].set(one(f, top))
                base = top.equal(float("-inf")).where(0.0, top)
                shrink = k.exp(before - base)
                mine = [k.exp(x - base) for tile_ in scores for x in tile_[2 * half : 2 * half + 2]]
                total = k.number(sums[half].get()) * shrink
                for x in mine:
                    total = total + x
                sums[half].set(one(f, total))
                for each in totals:
                    for t in each[2 * half : 2 * half + 2]:
                        t.set(one(f, k.number(t.get()) * shrink))
                weights[0] += mine[:2]
                weights[1] += mine[2:]
            k.add_up(totals, k.as_left(weights), k.down(bases["v"], "v", at, last_key))
        whole = k.both(k.number(sums[0].get()), k.number(sums[1].get()), (1, 2), lambda a, b: a + b)
        shares = [w.equal(0.0).where(0.0, 1.0 / w) for w in whole]
        found = [[k.number(t.get()) * shares[i >> 1] for i, t in enumerate(each)] for each in totals]
        k.keep(found, bases["out"], "out", first, "%rows")
        for half in (0, 1):
            row = f.i64("add", first, f.i64("add", k.group, 8 * half))
            first_ = f.op(f"and i1 {f.i64('icmp slt', row, '%rows')}, {f.i64('icmp eq', k.part, 0)}")
            with f.when(first_):
                place = f.at(bases["lse"], f.i64("mul", row, "%lse_row"))
                store(f, k.number(high[half].get()) + k.log(whole[half]), place, "float32")


def _number_of_row(k: _Kernel, base: str, name: str, number: str, last: str) -> Lane:
    return load(k.f, k.row(base, name, number, last), "float32")


def _to_query(k: _Cores) -> None:
    f = k.f
    tall = f.i64("lshr", k.threads, 1)
    last_row, last_key = f.i64("sub", "%rows", 1), f.i64("sub", "%keys", 1)
    with k.tiles("rows", tall) as (bases, tile):
        first = f.i64("add", tile, f.i64("mul", k.warp, ROWS))
        rows, grads = (k.rows_of(bases[n], n, first, last_row) for n in ("q", "g"))
        places = k.places(first)
        lse = [_number_of_row(k, bases["lse"], "lse", p, last_row) for p in places]
        end = k.least("%keys", f.i64("add", tile, tall)) if k.causal else "%keys"

        def weights(at: str) -> tuple[list[list[Lane]], list[list[Lane]]]:
            """(the weights, their gradients) of 16 keys."""
            scores = k.products(lambda s: k.left(rows, s), k.across(bases["k"], "k", at, last_key))
            found = [
                [
                    k.chosen(
                        k.valid(places[i >> 1], k.column(at, t, i)), k.exp(x * k.scale - lse[i >> 1]), "0.0"
                    )
                    for i, x in enumerate(tile_)
                ]
                for t, tile_ in enumerate(scores)
            ]
            return found, k.products(lambda s: k.left(grads, s), k.across(bases["v"], "v", at, last_key))

        sums = [f.var("0.0", "float") for _ in (0, 1)]
        with strided(f, "0", str(ROWS), end) as at:
            p, to_p = weights(at)
            for half in (0, 1):
                total = k.number(sums[half].get())
                for a, b in zip(p, to_p, strict=True):
                    for x, y in zip(a[2 * half : 2 * half + 2], b[2 * half : 2 * half + 2], strict=True):
                        total = total + x * y
                sums[half].set(one(f, total))
        delta = k.both(k.number(sums[0].get()), k.number(sums[1].get()), (1, 2), lambda a, b: a + b)
        for half in (0, 1):
            mine = f.op(f"and i1 {f.i64('icmp slt', places[half], '%rows')}, {f.i64('icmp eq', k.part, 0)}")
            with f.when(mine):
                store(
                    f, delta[half], f.at(bases["delta"], f.i64("mul", places[half], "%delta_row")), "float32"
                )
        totals = k.zeros()
        with strided(f, "0", str(ROWS), end) as at:
            p, to_p = weights(at)
            to_scores = [
                [x * (y - delta[i >> 1]) * k.scale for i, (x, y) in enumerate(zip(a, b, strict=True))]
                for a, b in zip(p, to_p, strict=True)
            ]
            k.add_up(totals, k.as_left(to_scores), k.down(bases["k"], "k", at, last_key))
        found = [[k.number(t.get()) for t in each] for each in totals]
        k.keep(found, bases["to_q"], "to_q", first, "%rows")


# Heads that are wider have the sums for keys and for values in two loops: both need too many registers.
_TOGETHER = 64


def _to_keys(k: _Cores) -> None:
    f = k.f
    tall = f.i64("lshr", k.threads, 1)
    last_row, last_key = f.i64("sub", "%rows", 1), f.i64("sub", "%keys", 1)
    with k.tiles("keys", tall) as (bases, tile):
        first = f.i64("add", tile, f.i64("mul", k.warp, ROWS))
        keys, values = (k.rows_of(bases[n], n, first, last_key) for n in ("k", "v"))
        places = k.places(first)
        begin = tile if k.causal else "0"

        def of_columns(at: str, name: str) -> list[list[Lane]]:
            """A number of each of this thread's queries."""
            return [
                [_number_of_row(k, bases[name], name, k.column(at, t, i), last_row) for i in (0, 1)]
                for t in (0, 1)
            ]

        def weights(at: str) -> list[list[Lane]]:
            """The weights of 16 queries, turned."""
            scores = k.products(lambda s: k.left(keys, s), k.across(bases["q"], "q", at, last_row))
            lse = of_columns(at, "lse")
            return [
                [
                    k.chosen(
                        k.valid(k.column(at, t, i), places[i >> 1]),
                        k.exp(x * k.scale - lse[t][i & 1]),
                        "0.0",
                    )
                    for i, x in enumerate(tile_)
                ]
                for t, tile_ in enumerate(scores)
            ]

        def add_values(at: str, p: list[list[Lane]], totals: list[list[Variable]]) -> None:
            k.add_up(totals, k.as_left(p), k.down(bases["g"], "g", at, last_row))

        def add_keys(at: str, p: list[list[Lane]], totals: list[list[Variable]]) -> None:
            to_p = k.products(lambda s: k.left(values, s), k.across(bases["g"], "g", at, last_row))
            delta = of_columns(at, "delta")
            to_scores = [
                [x * (y - delta[t][i & 1]) * k.scale for i, (x, y) in enumerate(zip(a, b, strict=True))]
                for t, (a, b) in enumerate(zip(p, to_p, strict=True))
            ]
            k.add_up(totals, k.as_left(to_scores), k.down(bases["q"], "q", at, last_row))

        both = ((add_values, "to_v"), (add_keys, "to_k"))
        for parts in [both] if k.width <= _TOGETHER else [both[:1], both[1:]]:
            totals = [k.zeros() for _ in parts]
            with strided(f, begin, str(ROWS), "%rows") as at:
                p = weights(at)
                for (add, _), each in zip(parts, totals, strict=True):
                    add(at, p, each)
            for (_, name), each in zip(parts, totals, strict=True):
                found = [[k.number(t.get()) for t in total] for total in each]
                k.keep(found, bases[name], name, first, "%keys")


# --- plainly ----------------------------------------------------------------------------------------


class _Plain(_Kernel):
    """Kernels whose warps have a row each: a thread has every 32nd element of it."""

    def __init__(self, kind: str, dtype: str, width: int, causal: bool, target: str) -> None:
        super().__init__(kind, dtype, width, causal, target)
        self.parts = -(-width // WARP)

    def elements(self, row: str) -> list[Lane]:
        """This thread's elements of a row; 0 behind its end."""
        f, found = self.f, []
        for part in range(self.parts):
            place = f.i64("add", self.lane, WARP * part)
            inside = f.i64("icmp slt", place, self.width)
            safe = f.op(f"select i1 {inside}, i64 {place}, i64 0")
            value = load(f, f.at(row, f.i64("mul", safe, self.item)), self.dtype)
            found.append(self.chosen(inside, value, "0.0"))
        return found

    def dot(self, a: Sequence[Lane], b: Sequence[Lane]) -> Lane:
        """The product of two rows, which every thread of the warp gets."""
        total = a[0] * b[0]
        for x, y in zip(a[1:], b[1:], strict=True):
            total = total + x * y
        for distance in (16, 8, 4, 2, 1):
            total = total + self.number(self.f.shuffle("float", one(self.f, total), distance))
        return total

    def zeros(self) -> list[Variable]:
        """Totals of a row."""
        return [self.f.var("0.0", "float") for _ in range(self.parts)]

    def add_up(self, totals: list[Variable], factor: Lane, row: Sequence[Lane]) -> None:
        """Add factor * row."""
        for total, x in zip(totals, row, strict=True):
            total.set(one(self.f, self.number(total.get()) + factor * x))

    def keep(self, totals: Sequence[Lane], base: str, name: str, row: str, count: str) -> None:
        """Store a row, if it is there."""
        f = self.f
        with f.when(f.i64("icmp slt", row, count)):
            start = f.at(base, f.i64("mul", row, f"%{name}_row"))
            for part, x in enumerate(totals):
                place = f.i64("add", self.lane, WARP * part)
                with f.when(f.i64("icmp slt", place, self.width)):
                    store(f, x, f.at(start, f.i64("mul", place, self.item)), self.dtype)

    def keep_number(self, x: Lane, base: str, name: str, row: str) -> None:
        """Store a number of a query's."""
        f = self.f
        mine = f.op(f"and i1 {f.i64('icmp slt', row, '%rows')}, {f.i64('icmp eq', self.lane, 0)}")
        with f.when(mine):
            store(f, x, f.at(base, f.i64("mul", row, f"%{name}_row")), "float32")


def _plain_forward(k: _Plain) -> None:
    f = k.f
    tall = f.i64("lshr", k.threads, 5)
    last_row = f.i64("sub", "%rows", 1)
    with k.tiles("rows", tall) as (bases, tile):
        row = f.i64("add", tile, k.warp)
        query = k.elements(k.row(bases["q"], "q", row, last_row))
        totals, high, sums = k.zeros(), f.var(_LOW, "float"), f.var("0.0", "float")
        end = k.least("%keys", f.i64("add", tile, tall)) if k.causal else "%keys"
        with strided(f, "0", "1", end) as at:
            score = k.dot(query, k.elements(f.at(bases["k"], f.i64("mul", at, "%k_row")))) * k.scale
            score = k.chosen(k.valid(row, at), score, _LOW)
            before = k.number(high.get())
            top = k.larger(before, score)
            high.set(one(f, top))
            base = top.equal(float("-inf")).where(0.0, top)
            shrink, weight = k.exp(before - base), k.exp(score - base)
            sums.set(one(f, k.number(sums.get()) * shrink + weight))
            for total in totals:
                total.set(one(f, k.number(total.get()) * shrink))
            k.add_up(totals, weight, k.elements(f.at(bases["v"], f.i64("mul", at, "%v_row"))))
        whole = k.number(sums.get())
        share = whole.equal(0.0).where(0.0, 1.0 / whole)
        k.keep([k.number(t.get()) * share for t in totals], bases["out"], "out", row, "%rows")
        k.keep_number(k.number(high.get()) + k.log(whole), bases["lse"], "lse", row)


def _plain_to_query(k: _Plain) -> None:
    f = k.f
    tall = f.i64("lshr", k.threads, 5)
    last_row = f.i64("sub", "%rows", 1)
    with k.tiles("rows", tall) as (bases, tile):
        row = f.i64("add", tile, k.warp)
        query, grad = (k.elements(k.row(bases[n], n, row, last_row)) for n in ("q", "g"))
        lse = _number_of_row(k, bases["lse"], "lse", row, last_row)
        end = k.least("%keys", f.i64("add", tile, tall)) if k.causal else "%keys"

        def weight(at: str) -> tuple[Lane, Lane, list[Lane]]:
            """(the weight of a key, its gradient, the key)."""
            key = k.elements(f.at(bases["k"], f.i64("mul", at, "%k_row")))
            p = k.chosen(k.valid(row, at), k.exp(k.dot(query, key) * k.scale - lse), "0.0")
            return p, k.dot(grad, k.elements(f.at(bases["v"], f.i64("mul", at, "%v_row")))), key

        sums = f.var("0.0", "float")
        with strided(f, "0", "1", end) as at:
            p, to_p, _ = weight(at)
            sums.set(one(f, k.number(sums.get()) + p * to_p))
        delta = k.number(sums.get())
        k.keep_number(delta, bases["delta"], "delta", row)
        totals = k.zeros()
        with strided(f, "0", "1", end) as at:
            p, to_p, key = weight(at)
            k.add_up(totals, p * (to_p - delta) * k.scale, key)
        k.keep([k.number(t.get()) for t in totals], bases["to_q"], "to_q", row, "%rows")


def _plain_to_keys(k: _Plain) -> None:
    f = k.f
    tall = f.i64("lshr", k.threads, 5)
    last_key = f.i64("sub", "%keys", 1)
    with k.tiles("keys", tall) as (bases, tile):
        row = f.i64("add", tile, k.warp)
        key, value = (k.elements(k.row(bases[n], n, row, last_key)) for n in ("k", "v"))
        to_key, to_value = k.zeros(), k.zeros()
        with strided(f, tile if k.causal else "0", "1", "%rows") as at:
            query, grad = (k.elements(f.at(bases[n], f.i64("mul", at, f"%{n}_row"))) for n in ("q", "g"))
            lse, delta = (
                load(f, f.at(bases[n], f.i64("mul", at, f"%{n}_row")), "float32") for n in ("lse", "delta")
            )
            p = k.chosen(k.valid(at, row), k.exp(k.dot(key, query) * k.scale - lse), "0.0")
            k.add_up(to_value, p, grad)
            k.add_up(to_key, p * (k.dot(value, grad) - delta) * k.scale, query)
        for totals, name in ((to_key, "to_k"), (to_value, "to_v")):
            k.keep([k.number(t.get()) for t in totals], bases[name], name, row, "%keys")


@lru_cache(maxsize=64)
def attention(kind: str, dtype: str, width: int, causal: bool, cores: bool, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers). kind: "forward", "to_query", "to_keys"; width: of a head's rows.

    cores: by tensor cores, for float16 and bfloat16 and a width of a multiple of 16.
    """
    kernel = (_Cores if cores else _Plain)(kind, dtype, width, causal, target)
    writers = {
        "forward": (_plain_forward, _forward),
        "to_query": (_plain_to_query, _to_query),
        "to_keys": (_plain_to_keys, _to_keys),
    }
    writers[kind][cores](kernel)  # type: ignore[arg-type]
    return kernel.text()
