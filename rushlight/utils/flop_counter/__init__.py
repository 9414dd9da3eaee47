"""torch.utils.flop_counter: how many operations the products of a program take, by op and by module.

PyTorch counts products of matrices, convolutions and attention in the ops that its kernels are called by, two
operations for each multiplication. What it takes another kernel for is not counted there, and so not here:
products with vectors, attention in one kernel (4-d, no dropout), a float LSTM. (It also counts nothing of a
transformer's layer in evaluation, which is one kernel there; here its products are.) An interpreter in the
dispatcher hears the rows. A row's gradient is told beforehand, as its node runs; convolutions' are heard as
rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.dispatch import arguments, interpreters
from rushlight.export.overloads import Packet
from rushlight.utils.flop_counter.formulas import NOTHING, ROWS, folds, uncounted
from rushlight.utils.flop_counter.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]
aten = torch.ops.aten
_ASKED = ("lstm", "matmul", "bilinear")  # beside those of ROWS
# Formulas of a program's own ops, and those that it gives for ours: from (*args, out_val=result, **kwargs).
flop_registry: dict[Any, Callable[..., int]] = {}


def _by_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    @wraps(formula)
    def run(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(
            lambda v: v.shape if isinstance(v, torch.Tensor) else v, (args, kwargs, out_val)
        )
        return formula(*args, out_shape=shape, **kwargs)

    return run


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[..., Any]:
    """Decorator: how many operations an op (torch.ops.NAMESPACE.NAME, or a list of them) takes.

    formula(*args, out_shape=..., **kwargs) gets shapes instead of tensors; with get_raw the tensors, and
    out_val. RuntimeError for a second formula, ValueError for what is no op.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, (Packet, torch.library.CustomOpDef)):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be "
                    "OpOverloadPacket (i.e. torch.ops.mylib.foo), JitFunction, or "
                    f"HigherOrderOperator, got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _by_shapes(formula)
        return formula

    return register


def _given(row: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    return arguments.bind(row, args, {k: v for k, v in kwargs.items() if k not in ("out", "inplace")})


class FlopCounterMode(interpreters.Interpreter):
    """Inside, the operations of products are counted: get_total_flops(), get_flop_counts(), get_table().

    depth: of modules in the table that is printed at the end, unless display is False. custom_mapping:
    formulas by op, beside those of register_flop_formula. mods is not needed (UserWarning).
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = {
            **flop_registry,
            **{
                op: formula if getattr(formula, "_get_raw", False) else _by_shapes(formula)
                for op, formula in (custom_mapping or {}).items()
            },
        }
        self._own = {str(op): op for op in self.flop_registry}
        self.mod_tracker = ModuleTracker()
        self._silent, self._quiet, self._within = False, 0, ""

    def get_total_flops(self) -> int:
        """Of all ops."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module ("Global": all together) and op."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__()
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    # --- counting --------------------------------------------------------------------------------

    def run(self, row: Any, call: Any, args: Any, kwargs: Any) -> Any:
        """An op: run, and counted as what PyTorch runs, or by the program's formula for it."""
        if (op := self._own.get(f"aten.{row.name}")) is not None:
            given = _given(row, args, kwargs)
            told = [given[p.name] for p in row.params if given[p.name] is not p.default]
            return self.custom(op, interpreters.interpret, (row, call, args, kwargs), told, {})
        own = row.name in ROWS
        if not own and (row.kind != "composite" or row.vjp is not None):
            return interpreters.interpret(row, call, args, kwargs)
        before, within = self._silent or (self._quiet and not torch.is_grad_enabled()), self._within
        given = _given(row, args, kwargs) if own or row.name in _ASKED else {}
        silent = bool(given) and uncounted(row.name, given)
        kept, self._silent = self._silent, before or silent or own
        if row.name == "matmul":
            self._within = "mm" if folds(given["input"], given["other"]) else "bmm"
        elif row.name.startswith("conv"):
            self._within = "convolution"
        try:
            found = interpreters.within(self, call, args, kwargs)
        finally:
            self._silent, self._within = kept, within
        if own:
            result = found[0] if isinstance(found, tuple) else found
            counts = NOTHING if before or silent else ROWS[row.name](result, *given.values())
            (op, flops), (back, more) = counts
            op, back = (within if name == "mm" and within else name for name in (op, back))
            if op == "convolution" != within:
                op = "convolution_backward"
            self._count(op and getattr(aten, op), flops)
            heard = row.name.startswith(("_convolution", "_biased_convolution"))
            if result._grad_node is not None and not heard:
                self._foretell(result._grad_node, back, more)
        return found

    def custom(self, op: Any, run: Any, how: Any, args: Any, kwargs: Any) -> Any:
        """An op that is no row: run(*how), and counted if there is a formula for it."""
        found = run(*how)
        if op in self.flop_registry:
            self._count(op, self.flop_registry[op](*args, out_val=found, **kwargs))
        return found

    def _foretell(self, node: Any, op: str, flops: int) -> None:
        """What this node counts as when it runs, instead of its rows; unless these make a graph, too."""

        def before(grads: Any) -> None:
            self._quiet += (quiet := not torch.is_grad_enabled())
            quieted.append(quiet)

        def after(inputs: Any, outputs: Any) -> None:
            if quieted.pop():
                self._quiet -= 1
                self._count(op and getattr(aten, op), flops)

        quieted: list[bool] = []
        node.register_prehook(before)
        node.register_hook(after)

    def _count(self, op: Any, flops: int) -> None:
        if op and flops:
            for name in self.mod_tracker.parents:
                self.flop_counts[name][op] += flops

    # --- the table -------------------------------------------------------------------------------

    def get_table(self, depth: int | None = None) -> str:
        """Modules down to `depth`, their operations and shares of all; as the package tabulate writes."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        step = max(0, min(4, (len(str(total)) - 2) // 3))

        def row(name: str, flops: int) -> list[str]:
            return [
                name,
                f"{flops / 1000**step:.3f}" + "KMBT"[step - 1] if step else f"{flops}",
                f"{flops / total:.2%}" if total else "0%",
            ]

        def rows(name: str, level: int) -> list[list[str]]:
            counts = self.flop_counts[name]
            return [
                row(" " * level + name, sum(counts.values())),
                *[row(" " * level + f" - {op}", n) for op, n in counts.items()],
            ]

        names = [
            n for n in sorted(self.flop_counts) if n != "Global" and (depth is None or n.count(".") < depth)
        ]
        table = [line for name in names for line in rows(name, name.count("."))]
        if "Global" in self.flop_counts and not any(
            sum(self.flop_counts[name].values()) >= total for name in names
        ):
            table = rows("Global", 0) + [[" " + line[0], *line[1:]] for line in table]
        table = [["Module", "FLOP", "% Total"], *(table or [["Global", "0", "0%"]])]
        widths = [max(len(table[0][i]) + 2, *[len(line[i]) for line in table]) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in table]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
