"""torch.onnx.errors: what export raises."""

from __future__ import annotations

from typing import Any

from rushlight.export import overloads
from rushlight.version import __version__

producer_version = __version__  # what models say of who wrote them


class OnnxExporterError(RuntimeError):
    """A model cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op of the model has no form in ONNX."""


def refused(node: Any, why: str) -> UnsupportedOperatorError:
    """The error of a program's node, with its op and its line."""
    place = f"\n{node.stack_trace}" if node.stack_trace else ""
    op = node.meta.get("op") or overloads.plain(node.target)
    return UnsupportedOperatorError(
        f"Exporting the operator 'aten::{op}' to ONNX is not supported: {why} "
        f"(it comes to {node.target}).{place}"
    )
