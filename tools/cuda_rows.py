"""How each row is served on a CUDA device: what docs/cuda.md's table says, row by row.

python tools/cuda_rows.py               writes the table into docs/cuda.md
python tools/cuda_rows.py --registers   assembles all kernels and writes tests/cuda/registers.json, where
                                        NVIDIA's ptxas is installed (nvidia-cuda-nvcc-cu12, or on the path)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import rushlight as torch  # noqa: E402 - from this tree
from rushlight._engine.devices.cuda import draws, served as by_kernels  # noqa: E402
from rushlight._engine.devices.cuda.kernels import (  # noqa: E402
    alignments,
    attention,
    device_math,
    lines,
    many,
    orders,
    products as own_products,
    ptx,
    reducing,
    writing,
)
from rushlight._engine.devices.cuda.served import drawing, indexing, products, rowwise, solving, windows  # noqa: E402  # noqa: E402
from rushlight._engine.dispatch.runners.formulas import Formula  # noqa: E402
from rushlight._engine.dispatch.runners.pointwise import simple  # noqa: E402
from rushlight._engine.kernels.emit.meaning import Meaning  # noqa: E402
from rushlight._engine.kernels.emit.target import Unsupported  # noqa: E402
from rushlight._engine.ops.expressions import symbol  # noqa: E402
from rushlight._engine.ops.nn import normalization, softmax  # noqa: E402
from rushlight._engine.ops.table import ROWS, Row  # noqa: E402

PAGE, REGISTERS = ROOT / "docs" / "cuda.md", ROOT / "tests" / "cuda" / "registers.json"
ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
MARK = "<!-- the rest is written by tools/cuda_rows.py -->\n"
_DTYPES = ("float32", "int64", "bool", "complex64")
KERNEL, BLAS, SOLVER, LIBRARY, DRAWN, VIEW, ROWS_OF = (
    "kernel",
    "cuBLAS",
    "cuSOLVER",
    "library call",
    "kernel's numbers, drawn by the host",
    "view",
    "its rows",
)


@cache
def meanings(row: Row) -> tuple[Meaning, ...]:
    """What a pointwise row computes, in the first dtype that it takes; of one that needs attributes, what its
    first sample computes.
    """
    return tuple(_meanings(row))


def _meanings(row: Row) -> Iterator[Meaning]:
    chosen = simple(row)
    if chosen is None:
        yield from _of_sample(row)
        return
    formula, operands, _ = chosen
    for dtype in _DTYPES:
        values = [torch.ones(2, 3, dtype=getattr(torch, dtype)) for _ in operands]
        try:
            entry = formula.compiled_for(values)
        except (RuntimeError, NotImplementedError, TypeError):
            continue
        yield entry.kernel.meaning
        return


def _of_sample(row: Row) -> Iterator[Meaning]:
    laws: Any = import_module("tests.engine.ops.test_laws")

    found: list[Any] = []
    entry = Formula.compiled_for

    def noted(self: Any, *args: Any, **more: Any) -> Any:
        found.append(entry(self, *args, **more))
        return found[-1]

    setattr(Formula, "compiled_for", noted)
    try:
        for of, sample in laws.ALL:
            if of is row and not found:
                laws.call(row, {n: _single(v) for n, v in laws.tensors_of(sample).items()})
    finally:
        setattr(Formula, "compiled_for", entry)
    yield from [e.kernel.meaning for e in found[:1]]


def _single(value: Any) -> Any:
    """A tensor in float16, in which no other call has been made."""
    return value.half() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def text_of(meaning: Meaning, target: str = "nvptx") -> str:
    """The LLVM IR of the flat kernel. Unsupported where there is none."""
    return writing.pointwise(meaning, 0, writing.vector_width(meaning), target=target)[0]


def served(row: Row) -> str:
    """How a row is served."""
    if row.name in products.ROWS or row.name.startswith("_convolution"):
        return BLAS
    if row.name in solving.ROWS:
        return SOLVER
    if row.name in by_kernels.names() | drawing.DRAWN or row.kind == "reduce":
        return KERNEL
    if row.name in draws.ROWS or row.name in draws.FACTORIES:
        return DRAWN
    if row.kind == "view" or row.options.get("is_view"):
        return VIEW
    if row.kind == "composite" and (row.fused is None or row.options.get("in_parts")):
        return ROWS_OF
    return KERNEL if row.kind == "pointwise" and _has_code(row) else LIBRARY


def _has_code(row: Row) -> bool:
    try:
        found = [text_of(meaning) for meaning in meanings(row)]
    except Unsupported:
        return False
    return bool(found) and not any(foreign(text) for text in found)


def foreign(text: str) -> list[str]:
    """Declarations of functions that PTX lacks and device_math.py has not."""
    return [
        s
        for s in text.splitlines()
        if s.startswith("declare")
        and "@llvm." not in s
        and not any(f"@{name}(" in s for name in device_math.NAMES)
    ]


def table() -> str:
    """The table as text."""
    by: dict[str, list[str]] = {}
    for name in sorted(ROWS):
        by.setdefault(served(ROWS[name]), []).append(name)
    told = {
        KERNEL: "the device's own kernels (PTX by LLVM, assembled in the tests; run under an imitation of "
        "the driver). On a simulated device they run as blocks and threads with `,kernels`, else the host "
        "computes. Special cases that no kernel serves (some dtypes and layouts) are "
        "refused by name on a real device",
        BLAS: "cuBLASLt on a real device (convolutions: cuDNN where it is installed, seen over an imitation "
        "of it alone), the host's BLAS on a simulated one",
        SOLVER: "cuSOLVER on a real device where it is installed (real matrices; seen over an imitation "
        "of it alone), the host's LAPACK on a simulated one",
        LIBRARY: "only simulated, by the host's NumPy, BLAS and compiled loops over the device's memory; a "
        "real device refuses them by name, but for composites, which run by their rows there",
        DRAWN: "drawn by the host into the device's memory: PyTorch's CUDA numbers (Philox), but for "
        "binomial, poisson and what begins with _, which have the distribution alone",
        VIEW: "a view: no memory is touched",
        ROWS_OF: "composites: by their rows",
    }
    parts = [f"{len(ROWS)} rows.", ""]
    for way in (KERNEL, BLAS, SOLVER, LIBRARY, DRAWN, VIEW, ROWS_OF):
        names = by.get(way, [])
        parts += [f"**{way}** ({len(names)}): {told[way]}.", "", ", ".join(f"`{n}`" for n in names), ""]
    return "\n".join(parts)


# --- what the assembler says ----------------------------------------------------------------------


def kernels() -> Iterator[tuple[str, str]]:
    """(name, LLVM IR for nvptx) of every pointwise row's kernel, and of one of each other family."""
    for name in sorted(ROWS):
        row = ROWS[name]
        if row.kind == "pointwise" and served(row) == KERNEL:
            for meaning in meanings(row):
                yield name, text_of(meaning)
    yield from _families()


def _families() -> Iterator[tuple[str, str]]:
    x = symbol("input")
    sums = Meaning((x,), (("input", "float32"),), ("float32",), "float32")
    for how, block in (("add", True), ("add", False), ("max", True), ("max", False)):
        kind = "block" if block else "thread"
        yield f"reduce {how}, a {kind}", reducing.reduction(how, sums, None, 2, 2, block, "nvptx")[0]
    yield "first of the greatest", reducing.first_of("max", "float32", 2, "nvptx")[0]
    of_rows: dict[str, Any] = {
        "softmax": softmax._softmax_kernel,
        "log_softmax": softmax._log_softmax_kernel,
        "softmax backward": softmax._softmax_back,
        "layer_norm": normalization._forward["weight", "bias"],
        "layer_norm backward": normalization._backward[("weight",)],
    }
    for name, kernel in of_rows.items():
        for of in ("float32", "bfloat16"):
            dtypes = ("float32" if n == "eps" else of for n in kernel.inputs)
            meaning, roles, _ = rowwise._meaning(kernel, tuple(dtypes), of, None)
            values = frozenset({"eps"} & set(kernel.inputs))
            yield f"{name}, {of}", writing.rows(meaning, roles, values, "nvptx")[0]
    meaning, axes, checks = indexing._reading("int32", ("int64",), (1,))
    values = frozenset(n for n, _ in meaning.inputs) - {"i0", "base", *dict(axes)}
    yield (
        "read at positions",
        writing.pointwise(meaning, 2, 1, values, axes, checks, False, ("base",), "nvptx")[0],
    )
    yield "add at positions", lines.writes("add", "float32", "int64", 1, "nvptx")[0]
    yield "ranks", lines.ranks("float32", False, 1, "nvptx")[0]
    yield "merge of runs", orders.merged("float32", False, "nvptx")[0]
    yield "sums of positions in order", orders.gathered_writes("add", "float32", "nvptx")[0]
    yield "order of pivots", lines.orders_of_pivots(False, "nvptx")[0]
    yield "search", orders.searches("float32", False, "nvptx")[0]
    yield "running maximum", orders.extremes("max", "float32", 1, "nvptx")[0]
    yield "logcumsumexp", lines.scan("logaddexp", "float32", "float32", 1, "nvptx")[0]
    yield "cumsum", lines.scan("add", "float32", "float32", 1, "nvptx")[0]
    yield "max pool of 3 x 3", writing.pointwise(windows._maxima(9, "float32", "float32", False), 4)[0]
    for kind in ("uniform", "normal", "integers", "keep"):
        meaning = drawing._meaning(kind, kind == "keep", "int64" if kind == "integers" else "float32", False)
        values = frozenset(n for n, _ in meaning.inputs) - {"e"}
        yield f"Philox: {kind}", writing.pointwise(meaning, 1, 1, values, (("e", 0),))[0]
    for kind in ("forward", "to_query", "to_keys"):
        for of, width in (
            ("bfloat16", 64),
            ("bfloat16", 128),
            ("float16", 64),
            ("float16", 128),
            ("float32", 64),
        ):
            text = attention.attention(kind, of, width, True, of != "float32", "nvptx")[0]
            yield f"attention {kind}, {of} of {width}", text
    yield "ctc_loss", alignments.forward("float32", "nvptx")[0]
    yield "ctc_loss backward", alignments.backward("float32", "nvptx")[0]
    for of in ("float32", "float64", "bfloat16", "complex64"):
        yield f"product, {of}", own_products.plain(of, of, "nvptx")[0]
    for words in ((True, True), (False, False)):
        yield (
            f"product by cores{', words' * words[0]}",
            own_products.cores("bfloat16", "bfloat16", words, "nvptx")[0],
        )
    yield from _steps()


def _steps() -> Iterator[tuple[str, str]]:
    """AdamW's kernels, of one tensor and of many, off a step of it."""
    p = torch.ones(3, requires_grad=True)
    p.sum().backward()
    optimizer: Any = torch.optim.AdamW([p])
    optimizer.step()
    (plans,) = optimizer._plans.values()
    kernel = plans.plans[0].kernel.kernel(p._array.dtype)
    meaning, scalars = kernel._meaning(), tuple(kernel.scalars)
    yield "AdamW step", writing.pointwise(meaning, 0, 4, frozenset(scalars))[0]
    yield (
        "AdamW step of 16 tensors",
        many.updates(meaning, scalars, tuple(kernel.targets), 16, False, "nvptx")[0],
    )
    yield (
        "AdamW step of 16 tensors, captured",
        many.updates(meaning, scalars, tuple(kernel.targets), 16, True, "nvptx")[0],
    )


@cache
def texts(architecture: str) -> list[tuple[str, str]]:
    """(kernel, its PTX) for all kernels."""
    return [(name, ptx.ptx(text, architecture)) for name, text in kernels()]


@cache
def assemblies(architecture: str) -> list[tuple[str, Any]]:
    """(kernel, what NVIDIA's assembler says of it) for all kernels."""
    written = texts(architecture)
    told = ptx.assemble_all([text for _, text in written], architecture)
    return [(name, found) for (name, _), found in zip(written, told, strict=True)]


def registers() -> None:
    """Write what the assembler says of all kernels: [registers, spills, bytes of shared memory]."""
    found: dict[str, Any] = {"ptxas": ptx.version()}
    for architecture in ARCHITECTURES:
        found[architecture] = {name: list(a) for name, a in assemblies(architecture)}
    lines_of = [json.dumps(found["ptxas"])]
    parts = [f'"ptxas": {lines_of[0]}']
    for architecture in ARCHITECTURES:
        rows = ",\n".join(f"  {json.dumps(n)}: {json.dumps(a)}" for n, a in found[architecture].items())
        parts.append(f'"{architecture}": {{\n{rows}\n}}')
    REGISTERS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    print(f"wrote {REGISTERS.relative_to(ROOT)}: {len(found['sm_80'])} kernels")


def main() -> int:
    """Write the table, or the registers."""
    if "--registers" in sys.argv:
        registers()
        return 0
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{table()}", encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
