"""What the namespace can do: dtypes by kind, devices, defaults."""

from __future__ import annotations

from typing import Any

import rushlight as torch

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
DTYPES = ("bool", *KINDS["numeric"])


class __array_namespace_info__:
    """The standard's inspection of a namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Indexing by masks, shapes that depend on data, and the most dims (NumPy's)."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where new arrays lie."""
        return torch.get_default_device()

    def devices(self) -> list[Any]:
        """The devices; arrays on `meta` have shapes and no data."""
        return [torch.device("cpu"), torch.device("meta")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of what is made without one."""
        real = torch.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": torch.int64,
            "indexing": torch.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes by name, of a kind (or several)."""
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {name: getattr(torch, name) for k in kinds for name in named(k)}


def named(kind: str) -> tuple[str, ...]:
    """The names of a kind's dtypes."""
    if kind not in KINDS:
        raise ValueError(f"unrecognized data type kind {kind!r}; kinds are {', '.join(map(repr, KINDS))}")
    return KINDS[kind]
