"""Results with named parts: torch.return_types.sort(values=..., indices=...) and others (results.tsv)."""

from __future__ import annotations

import os
from operator import itemgetter
from typing import Any


class Result(tuple[Any, ...]):
    """A tuple whose items have names; made from the items, or from one sequence of them."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _op = ""

    def __new__(cls, *items: Any) -> Result:
        if len(items) == 1 and len(cls._fields) != 1:
            if not hasattr(items[0], "__iter__"):
                raise TypeError("constructor requires a sequence")
            items = tuple(items[0])
        if len(items) != len(cls._fields):
            raise TypeError(
                f"{cls.__name__}() takes a {len(cls._fields)}-sequence ({len(items)}-sequence given)"
            )
        return tuple.__new__(cls, items)

    @classmethod
    def _make(cls, items: Any) -> Result:
        """From a sequence, as named tuples (and the tree tools that look for them) have it."""
        return cls(*items)

    def _asdict(self) -> dict[str, Any]:
        """Names and values."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        parts = ",\n".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
        return f"torch.return_types.{self._op}(\n{parts})"

    def __reduce__(self) -> Any:
        return restore, (self._op, tuple(self))


def _class(op: str, fields: tuple[str, ...]) -> type[Result]:
    parts = {name: property(itemgetter(i)) for i, name in enumerate(fields)}
    return type(
        op,
        (Result,),
        {
            "__slots__": (),
            "__module__": "torch.return_types",
            "__match_args__": fields,
            "_fields": fields,
            "_op": op,
            "n_fields": len(fields),
            "n_unnamed_fields": 0,
            "n_sequence_fields": len(fields),
            **parts,
        },
    )


with open(os.path.join(os.path.dirname(__file__), "results.tsv"), encoding="utf-8") as _file:
    TYPES: dict[str, type[Result]] = {op: _class(op, tuple(fields)) for op, *fields in map(str.split, _file)}
_NO_OUT = ("_lu_with_info", "histogramdd")
TYPES.update(
    {f"{op}_out": _class(f"{op}_out", cls._fields) for op, cls in TYPES.items() if op not in _NO_OUT}
)


def named(op: str) -> type:
    """The class of an op's results."""
    return TYPES[op]


def given_out(result: Any, outs: Any) -> Any:
    """What an op returns that has written `result`, a tuple, into the tensors `outs`."""
    cls = type(result)
    if cls in (tuple, list):
        return cls(outs)
    return TYPES.get(f"{cls.__name__}_out", cls)(*outs)


def restore(op: str, items: tuple[Any, ...]) -> Any:
    """An unpickled result."""
    return TYPES[op](*items)
