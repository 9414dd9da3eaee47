"""What test_same_bits.py runs in processes of its own: calls of all rows, again and again, as digests.

python -m tests.engine.ops.same_bits [rows | sizes]    prints {case: digest of the first call's bits} as JSON,
and under "changed" the cases in which a later call had other bits.
"""

import hashlib
import json
import math
import sys
import warnings
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.ops.table import ROWS
from rushlight.nn import functional as F
from tests.engine.ops.test_laws import collect, flat, leaves, strided, tensors_of

# Around what decides who computes: small calls, reductions by machine code, their chunks, several threads.
SIZES = (4096, 4097, (1 << 14) - 1, 3 << 13, (1 << 16) + 1)
LINES = (15, 4097, (1 << 17) + 3)
# Rows whose answers are what memory happens to hold.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
CALLS = 2


def digest(results):
    """The bits of tensors; a nan is a nan."""
    total = hashlib.sha256()
    for t in results:
        a = np.array(t.detach().resolve_conj().resolve_neg().numpy(force=True), order="C")
        if a.dtype.kind in "fc":
            a[np.isnan(a)] = np.nan
        total.update(f"{a.dtype.char}{a.shape}".encode() + a.tobytes())
    return total.hexdigest()[:16]


def answer(run, arguments, smooth=True):
    """The digest of a call's results and of the gradients of its operands."""
    torch.manual_seed(0)
    xs = leaves(arguments) if smooth else []
    for x in xs:
        x.requires_grad_()
    results = flat(run(**arguments))
    tracked, grads = [r for r in results if r.grad_fn is not None], []
    if tracked:
        grads = torch.autograd.grad(tracked, xs, [*map(torch.ones_like, tracked)], allow_unused=True)
    return digest([*results, *[g for g in grads if g is not None]])


def of_rows() -> Any:
    """(name, call) of every row's samples, in float64 and float32, contiguous and strided."""
    for row, sample in collect():
        if row.name in UNDEFINED:
            continue
        for kind in ("float64", "float32"):
            for layout in (np.asarray, strided):

                def transform(a, kind=kind, layout=layout):
                    return layout(a.astype(kind) if a.dtype == np.float64 else a)

                def call(row=row, sample=sample, transform=transform):
                    smooth = sample.smooth and row.kind not in ("view", "opaque_inplace")
                    return answer(function(row), tensors_of(sample, transform), smooth)

                yield f"{row.name} {sample.name} {kind} {layout.__name__}", call


def repeated(a, shape):
    """np.resize, which takes longer than the calls where it repeats an array thousands of times."""
    count = math.prod(shape)
    return np.tile(a.ravel(), -(-count // a.size))[:count].reshape(shape)


def of_sizes():
    """(name, call) of pointwise rows and reductions, and of what works row by row, by sizes."""
    samples = {row.name: (row, sample) for row, sample in reversed(collect("float32"))}  # the first of each
    for row, sample in samples.values():
        arrays = {n: v for n, v in sample.arguments if isinstance(v, np.ndarray) and v.ndim}
        if row.kind not in ("pointwise", "reduce") or not arrays or sample.name.startswith("broadcast"):
            continue
        pointwise = row.kind == "pointwise"
        for n in LINES if pointwise else SIZES:
            shapes = {"line": (n,)} if pointwise else {"line": (n,), "wide": (3, n // 3), "tall": (n // 3, 3)}
            for name, shape in shapes.items():
                rest = {"dim": -1 if name == "wide" else 0} if name != "line" else {}

                def call(row=row, sample=sample, arrays=arrays, shape=shape, rest=rest):
                    given = {**dict(sample.arguments), **rest}
                    given |= {k: torch.from_numpy(repeated(v, shape)) for k, v in arrays.items()}
                    return answer(function(row), given, sample.smooth)

                if name == "line" and dict(sample.arguments).get("dim") is not None:
                    continue
                yield f"{row.name} {sample.name} {name} {n}", call
    yield from of_lines()


def turns(x):
    """The numbers of all rows in turn: 5000, or as many as make a few megabytes."""
    return torch.arange(min(5000, (1 << 21) // x.shape[-1])) % len(x)


WORK = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "var of columns": lambda x: x.var(0),
    "cumsum": lambda x: x.cumsum(-1),
    "cumsum of columns": lambda x: x.cumsum(0),
    "cumprod": lambda x: (1 + x * 1e-3).cumprod(-1),
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long)),
    "bias": lambda x: F.linear(x, torch.ones(3, x.shape[-1]), torch.ones(3)),
    "product": lambda x: x.mT @ x if x.shape[-1] < 300 else x @ x.mT,
    "norm": lambda x: torch.linalg.norm(x),
    "topk": lambda x: x.topk(min(3, x.shape[-1]))[0],
    "sort": lambda x: x.sort(-1)[0],
    "bfloat16": lambda x: (x.bfloat16() * 1.5 + x.bfloat16().exp()).sum(-1),
    "gelu twice": lambda x: F.gelu(F.gelu(x)),
    "pow": lambda x: x.abs() ** 1.7 + x**2,
    "add_": lambda x: x.clone().add_(x, alpha=0.3),
    "group_norm": lambda x: F.group_norm(x.reshape(1, 1, *x.shape), 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "embedding": lambda x: F.embedding(turns(x), x),
    "index_add": lambda x: x.index_add(0, turns(x), x[turns(x)]),
    "dropout": lambda x: F.dropout(x, 0.3),
    "normal": lambda x: torch.randn(x.shape),
}


def of_lines():
    """(name, call) of what works on whole rows or columns."""
    for name, run in WORK.items():
        for shape in ((1, 7), (3, 33), (64, 64), (65, 64), (33, 2000), (5000, 20), (2, 40000)):

            def call(run=run, shape=shape):
                x = torch.linspace(-3, 3, shape[0] * shape[1]).reshape(shape).sin() * 2
                return answer(run, {"x": x})

            if not (name == "product" and shape[0] > 4000):
                yield f"{name} {shape}", call


def compile_all():
    """Everything that may become machine code becomes it."""
    for kernel in list(tiers._kernels):
        kernel.compile_now()


def quietly(call: Any) -> Any:
    """The digest of a call, or the name of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        return type(error).__name__


def main():
    """Print the digests of all cases as JSON."""
    cases = {"rows": of_rows, "sizes": of_sizes}[sys.argv[1]]()
    first, calls, changed = {}, {}, []
    for name, call in cases:
        first[name] = quietly(call)
        if not first[name].endswith("Error"):
            calls[name] = call
            if any(quietly(call) != first[name] for _ in range(CALLS)):
                changed.append(name)
    compile_all()
    for name, call in calls.items():
        if any(quietly(call) != first[name] for _ in range(CALLS)):
            changed.append(name)
    print(json.dumps({"first": first, "changed": changed, "rows": len(ROWS)}))


if __name__ == "__main__":
    main()
