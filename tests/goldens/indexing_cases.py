"""x[...] cases as expressions over a small namespace, run alike by the recorder and the tests."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

READS = """
x[1]; x[-1]; x[0, 1]; x[1, :]; x[:, 2]; x[1:3]; x[:, 1:]; x[::2]; x[:, ::3]; x[1:, -2:]; x[-1:]
x[2:1]; x[5:]; x[:-9]; x[...]; x[()]; x[:]; x[..., 0]; x[0, ..., 0]; x[None]; x[:, None]; x[..., None]
x[None, ..., None]; x[0, None, 1]; x[..., ...]; x[True]; x[False]; x[True, True]; x[True, False]
x[:, True]; x[None, True]; x[0, True]; x[True, [0, 1]]; x[:, True, [0, 1]]; x[False, [0, 1]]
x[T(1)]; x[T(1), :]; x[T(1), T([0, 1])]; x[T([0, 1]), T(1)]; x[:, T(1), T([0, 1])]; x[..., T(1)]
x[T(True)]; x[T(False)]; x[T(True), 0]; x[T(1, dtype=torch.int8)]; x[T(1, dtype=torch.uint8)]
x[[0, 1]]; x[[1, 0], :]; x[:, [2, 0]]; x[[0, 1], [1, 2]]; x[[0, 1], :, [1, 0]]; x[:, [0, 1], [1, 0]]
x[0, :, [1, 0]]; x[[1, 0], :, 0]; x[[0], None]; x[None, [0, 1]]; x[[0, 1], None, [1, 0]]
x[[[0, 1], [1, 0]],]; x[:, [[0, 1], [1, 0]]]; x[[[0], [1]], [0, 1, 2]]; x[[[0], [1]], :, [0, 1, 2]]
x[[]]; x[:, []]; x[[], []]; x[([[]],)]; x[(0, (0, 1))]; x[((0, 1),)]; x[range(2)]; x[:, range(0, 3, 2)]
x[[True, False]]; x[T([True, False])]; x[:, T([True, False, True])]; x[m2]; x[m2, 0]; x[m2, 1:]; x[m2, [0, 1, 2]]
x[m2, None]; x[:, m34]; x[0, m34]; x[..., m34]; x[m234]; x[x > 5]; x[x > 99]; x[m2, True]
x[np.int64(1)]; x[np.array([0, 1])]; x[np.array([True, False])]; x[np.array(1)]; x[np.array([1.5])]; x[[0.5]]
x[([T(1), T(0)],)]; x[[0, T(1)]]; x[[T([0, 1]), T([1, 2])]]; x[[0, slice(None)]]; x[[0, None]]; x[[[0, 1]]]
x[T([1, 0], dtype=torch.uint8)]; x[T([1, 0], dtype=torch.int32)]; x[T(0):T(2)]; x[:, ::T(2)]
x[T([-1])]; x[T([-2, 1])]; x[Idx()]; x[0, Idx()]; x[torch.zeros(2, 0, dtype=torch.long)]
z[[0, 1]]; z[:, [0, 1]]; z[:, :, [0, 1]]; z[..., [0, 1]]; z[[0, 1], [0, 1]]; z[:, [0, 1], [0, 1]]; z[[0, 1], :, [0, 1]]
z[[0, 1], :, :, [0, 1]]; z[:, [0, 1], :, [0, 1]]; z[T([[0, 0], [1, 1]])]; z[:, T([[0, 0], [1, 1]])]; z[z > 3]
z[:, T([[0, 1, 1], [1, 0, 1]]).t()]; z[T([[0, 1, 1], [1, 0, 1]]).t()]; z[:, T([True, False, True])]; z[True]; z[0, 1:, ::2]
z[I([0, 1])[:, None], I([1, 0])]; z[I([0, 1])[:, None].expand(2, 3)]; e[[0, 1]]; e[:, [0, 1]]; e[:, :, [0, 1]]
s[()]; s[...]; s[None]; s[True]; s[T(True)]; s[None, None]
empty[T([], dtype=torch.long)]; torch.zeros(3, 0)[T([0])]; torch.zeros(3, 0)[T([5])]
x[5]; x[-3]; x[0, 5]; x[:, 5]; x[T(5)]; x[T([5])]; x[:, T([5])]; x[T([0, 9]), T([0, 0])]; x[T([0, 1]), T([7, 0])]
x[T([-7])]; x[[2]]; x[0, 0, 0, 0]; x[:, :, :, :]; x[[0], [0], [0], [0]]; x[0, 0, 0, [0]]; x[m2234]; empty[0]; empty[T([0])]
x[::-1]; x[::0]; x[:, 2:0:-1]; x[1.0:2]; x['a':2]; x[T(1.):2]; x[1.0]; x['a']; x[1j]; x[{}]; x[{1, 2}]; x[object()]
x[np.float32(1)]; x[np.bool_(True)]; x[0, 1.0]; x[T([1., 0])]; x[T(1.)]; x[T([1, 0], dtype=torch.int16)]; x[[1j]]
x[T([True, False, True])]; x[:, T([True, False])]; x[T([[True, False], [True, False]])]; x[m2, T([True, False])]
x[[0, 1], [0, 1, 2]]; x[:, [0, 1], [0, 1, 2]]; x[m2, [0, 1]]; x[([[1, 2], [1]],)]; x[2**63]; s[0]; s[:]; s[0,]; s[[0]]
"""

WRITES = """
x[0] = 1; x[0] = I([1., 2, 3, 4]); x[0] = I([1, 2, 3, 4]); x[0] = I([[1., 2, 3, 4]]); x[0, 0] = I([1.]); x[0:2] = I([[1., 2, 3, 4]])
x[:, 1] = 2; x[..., 0] = I([1., 2, 3]); x[None] = 3; x[...] = 4; x[()] = 5; x[::2, 1:] = 7.5; x[True] = 1; x[False] = 1
x[[0, 1]] = I([1., 2, 3, 4]); x[[0, 1]] = 1; x[[0, 1]] = True; x[[0, 1], [1, 2]] = I([5., 6]); x[[0, 0]] = torch.ones(2, 4); x[:, [0, 2]] = 9
x[[0, 1]] = torch.ones(1, 1, 2, 4); x[x > 5] = 3; x[x > 5] = T(2.); x[x > 5] = torch.arange(6.); x[m3] = 4; x[m3] = torch.ones(2, 4)
x[[]] = 1; x[0, [0, 1]] = 3; x[T(1)] = 6; x[T([0, 1]), 1:] = I([1., 2, 3]); x[-1, -1] = 8; x[[-1, 0]] = 2
i[0] = 1.7; i[0] = T(1.7); i[:2] = I([1.7, 2.7]); i[[0]] = 1.7; i[T([True, False, True])] = T(1.7); b[0] = 2; b[1] = T(0.5)
y[:, [0, 1], :] = torch.arange(8.).reshape(2, 4); y[[0, 1], :, [0, 1]] = torch.arange(6.).reshape(2, 3); y[m2] = torch.arange(3.)[:, None]
y[..., 1:3] = 1; y[1, None, 0] = 2; y[:, None, [0]] = 3; s[()] = 2; s[...] = 2; s[None] = 2; s[True] = 2; s[None] = T([3.])
x.t()[0] = 1; x.t()[[0, 1]] = 2; e[0, 0] = 5; e[[0]] = 1; x[0] = x[1]; x[0] = x[0] + 1
u[0] = -1
x[0] = I([1., 2, 3]); x[0] = torch.ones(2, 4); x[0, 0] = I([1., 2]); x[0:2] = I([1., 2, 3]); x[0:2] = torch.ones(3, 4); x[[0, 1]] = I([1., 2, 3])
x[[0, 1]] = I([1, 2, 3, 4]); x[[0, 1]] = torch.ones(2, 2, 4); x[x > 5] = I([1., 2]); x[[]] = torch.ones(3, 4); x[0] = 1j; x[[0]] = 1j
x[0] = [1, 2, 3, 4]; x[0] = 'a'; x[0] = None; x[0] = np.float32(3); x[5] = 1; x[[5]] = 1; x[:, [5]] = 1; x[0, 0, 0] = 1; x[::-1] = 1
x[1.0] = 1; x[T([1.])] = 1; i[[0]] = T(1.7); i[[0]] = I([1.7]); s[0] = 1; s[:] = 2; y[0] = y; e[:] = 1; u[0] = 300
"""


class Idx:
    """An object that is an index by __index__ alone."""

    def __index__(self) -> int:
        return 1


def split(text: str) -> list[str]:
    """The expressions of a table."""
    return [part.strip() for part in re.split(r"[;\n]", text) if part.strip()]


def read_namespace(torch: Any) -> dict[str, Any]:
    """The tensors that READS mention."""

    def numbers(*sizes: int) -> Any:
        return torch.arange(float(np.prod(sizes))).reshape(sizes)

    m2 = torch.tensor([[True, False, True], [True, False, False]])
    m34 = numbers(3, 4) > 3
    return {
        "torch": torch,
        "np": np,
        "T": torch.tensor,
        "I": torch.tensor,
        "Idx": Idx,
        "x": numbers(2, 3, 4),
        "z": numbers(2, 3, 4, 5).permute(3, 1, 0, 2),
        "e": numbers(3).expand(2, 4, 3),
        "s": torch.tensor(3.0),
        "empty": torch.zeros(0, 3),
        "m2": m2,
        "m34": m34,
        "m234": numbers(2, 3, 4) > 7,
        "m2234": numbers(2, 2, 3, 4) > 7,
    }


def write_namespace(torch: Any) -> dict[str, Any]:
    """Fresh tensors for one of WRITES."""
    x = torch.arange(12.0).reshape(3, 4)
    return {
        "torch": torch,
        "np": np,
        "T": torch.tensor,
        "I": torch.tensor,
        "x": x,
        "y": torch.zeros(2, 3, 4),
        "e": torch.zeros(3).expand(2, 3),
        "s": torch.tensor(1.0),
        "i": torch.zeros(3, dtype=torch.int64),
        "b": torch.zeros(3, dtype=torch.bool),
        "u": torch.zeros(2, dtype=torch.uint8),
        "m3": torch.tensor([True, False, True]),
        "m2": torch.tensor([[True, False, True], [True, False, False]]),
    }


def outcome(run: Callable[[], Any]) -> dict[str, Any]:
    """What a case does, as JSON can hold it: an error, or the result and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = run()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is recorded
            return {"error": type(error).__name__, "message": str(error).split("\nException")[0]}
    return {**found, "warns": [str(w.message).split(" (Triggered")[0] for w in caught]}


def read_outcome(expression: str, names: dict[str, Any]) -> dict[str, Any]:
    """The result of a read: geometry, values, and whether it is a view."""

    def run() -> dict[str, Any]:
        found = eval(expression, names)  # noqa: S307 - the tables above are all it sees
        owner = names.get(expression.split("[")[0].split(".")[0])
        shared = (
            owner is not None
            and hasattr(owner, "untyped_storage")
            and found.numel() > 0
            and (found.untyped_storage().data_ptr() == owner.untyped_storage().data_ptr())
        )
        return {
            "shape": list(found.shape),
            "stride": list(found.stride()),
            "view": shared,
            "values": found.tolist(),
        }

    return outcome(run)


def write_outcome(statement: str, names: dict[str, Any]) -> dict[str, Any]:
    """What a write leaves in the tensor that it writes to."""

    def run() -> dict[str, Any]:
        exec(statement, names)  # noqa: S102
        return {"values": names[statement[0]].tolist()}

    return outcome(run)


def all_outcomes(torch: Any) -> dict[str, dict[str, Any]]:
    """Every case of both tables."""
    found = {case: read_outcome(case, read_namespace(torch)) for case in split(READS)}
    found.update({case: write_outcome(case, write_namespace(torch)) for case in split(WRITES)})
    return found
