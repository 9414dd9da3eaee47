"""What inspect.signature() says of an op: PyTorch's parameters, worked out when somebody asks.

The generated callables take more than they tell of: NumPy's spellings of keywords, and marks in place of
what must be given.
"""

from __future__ import annotations

import inspect
from typing import Any

from rushlight._engine.dispatch.runners.pointwise import public_params
from rushlight._engine.ops.signature import REQUIRED, Param
from rushlight._engine.ops.table import Row


class RowSignature(inspect.Signature):
    """A row's signature, read off the row at the first look."""

    __slots__ = ("_row", "_writes")
    _row: Row
    _writes: bool

    def __getattr__(self, name: str) -> Any:
        if name not in ("_parameters", "_return_annotation"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        inspect.Signature.__init__(self, parameters(self._row, self._writes))
        return getattr(self, name)

    def __reduce__(self) -> Any:
        return inspect.Signature, (list(self.parameters.values()),)


def of(row: Row, writes: bool = False) -> RowSignature:
    """The signature of a row's function, or of the variant that writes into its first operand."""
    made: RowSignature = object.__new__(RowSignature)
    made._row, made._writes = row, writes
    return made


def parameters(row: Row, writes: bool = False) -> list[inspect.Parameter]:
    """The parameters that a caller may give; `out` only where it is not torch.nn.functional's function."""
    given = list(row.params if writes or row.kind != "pointwise" else public_params(row))
    if row.out and not writes and "nn.functional" not in row.where:
        given.append(Param("out", "Tensor | None", None, True))
    shown: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for p in sorted(given, key=_by_keyword):
        if p.varargs:
            shown.append(inspect.Parameter(p.name, inspect.Parameter.VAR_POSITIONAL))
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = inspect.Parameter.empty if p.default is REQUIRED else p.default
        shown.append(
            inspect.Parameter(
                p.name, inspect.Parameter.KEYWORD_ONLY if p.keyword_only else kind, default=default
            )
        )
    return shown


def _by_keyword(p: Param) -> bool:
    return p.keyword_only
