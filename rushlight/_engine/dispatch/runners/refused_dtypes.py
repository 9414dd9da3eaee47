"""What dtypes a row refuses: the table's texts (ops/refusals.tsv) as PyTorch's exceptions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.ops.table import WIDE, WIDE_DTYPES

# What refusals (ops/table.py) call the categories of dtypes.
CATEGORY = {dt.BOOL: "bool", dt.INTEGRAL: "int", dt.FLOATING: "float", dt.COMPLEX: "complex"}


def check_dtype(refusals: dict[str, str], given: dt.dtype, of: Any = None, before: Any = None) -> None:
    """Raise a Row's refusal of a dtype, if there is one, as the exception that PyTorch has for such a text.

    of: the array; the marks behind a text (`REFUSALS`) say which arrays are taken nevertheless.
    before: what raises an IndexError for dims that PyTorch refuses before a kernel refuses a dtype.
    """
    text = refusals.get(given.name)
    if text is not None and WIDE_DTYPES.accepted and given.name in WIDE.split():
        WIDE_DTYPES.used, text = True, None
    text = refusals.get(CATEGORY[given.category]) if text is None else text
    marks = "" if text is None else text[len(text.rstrip("?*!")) :]
    if text is None or (
        of is not None and (("?" in marks and not of.size) or ("*" in marks and not of.ndim))
    ):
        return
    text = text.rstrip("?*!")
    if before and ("!" in marks or "implemented for '" in text):
        with suppress(RuntimeError, TypeError, ValueError):
            before()
    words = ("implemented for '", "for complex inputs", "for complex types", "is not implemented", "NumPy")
    lacking = any(w in text for w in words)
    raise (NotImplementedError if lacking else RuntimeError)(text.format(dtype=given.legacy))
