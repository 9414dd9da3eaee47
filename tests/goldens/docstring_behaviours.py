"""What PyTorch's docstrings show: layouts, files, futures, ops of one's own. Its answers: docstring_behaviours.json."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from answers import Table, attempts

DOCSTRINGS = Table("docstring_behaviours.json")
_numbers = count()
LAYOUTS = {"csr": (), "csc": (), "bsr": ((2, 2),), "bsc": ((2, 1),)}


@DOCSTRINGS
def dims(torch: Any) -> Any:
    """dim_order, with what leaves the order open; einsum of sublists."""
    x = torch.ones(2, 3, 4, 5)
    texts = (
        "x",
        "x.permute(0, 2, 3, 1)",
        "x[:, :1]",
        "x.transpose(0, 3)",
        "x.permute(3, 0, 1, 2)[:, :, :, :1]",
        "x.contiguous(memory_format=torch.channels_last)",
        "torch.ones(())",
        "torch.ones(0, 3)",
    )
    orders = "\n".join(
        f"{text}.dim_order({how})"
        for text in texts
        for how in (
            "",
            "ambiguity_check=True",
            "ambiguity_check=[torch.channels_last]",
            "ambiguity_check=[torch.contiguous_format, torch.channels_last]",
        )
    )
    return attempts(
        orders
        + """
        x.dim_order(ambiguity_check="ILLEGAL")
        x.dim_order(ambiguity_check=[1])
        torch.einsum(x, [..., 0, 1], x, [..., 2, 1], [..., 0, 2])
        torch.einsum(x[0, 0], [0, 1])
        torch.einsum(x[0, 0], [0, 1], [])
        torch.einsum(x[0, 0], (0, 1), x[0, 0, 0], (1,))
        torch.einsum(torch.ones(()), [])
        torch.einsum(torch.ones(2), [])
        torch.einsum(torch.ones(2, 2), [0, 0])
        torch.einsum(torch.ones(2, 2), [0, 52])
        torch.einsum("ij->ji", [torch.ones(2, 3)])
    """,
        {"x": x, "torch": torch},
    )


@DOCSTRINGS
def memory(torch: Any) -> Any:
    """Tensors over files and capsules."""
    with tempfile.TemporaryDirectory() as folder:
        path, new = (str(Path(folder, name)) for name in ("four.bin", "new.bin"))
        Path(path).write_bytes(bytes(16))

        def capsule() -> Any:
            t = torch.arange(3)
            other = torch.from_dlpack(torch.utils.dlpack.to_dlpack(t))
            other[0] = -9
            return t, other

        def unrecorded() -> Any:
            with torch.no_grad():
                return torch.ones(2, requires_grad=True).numpy().tolist()

        return attempts(
            """
            torch.from_file(path, size=3).tolist()
            torch.from_file(path, size=2, dtype=torch.bfloat16).fill_(1).tolist()
            torch.from_file(path, size=2, dtype=torch.bfloat16).tolist()
            torch.from_file(path, True, size=2, dtype=torch.int32).fill_(7).tolist()
            torch.from_file(path, size=4, dtype=torch.int32).tolist()
            torch.from_file(path)
            torch.from_file(new, True, 4, requires_grad=True).tolist()
            torch.from_file(path, shared=True, size=8).tolist()
            capsule()
            unrecorded()
            torch.ones(2, requires_grad=True).numpy()
        """,
            {"torch": torch, "path": path, "new": new, "capsule": capsule, "unrecorded": unrecorded},
        )


@DOCSTRINGS
def programs(torch: Any) -> Any:
    """Futures, names, default backends, devices that are not there."""
    futures = torch.futures

    def made(*values: Any) -> Any:
        found = [futures.Future() for _ in values]
        together = futures.collect_all(found)
        before = together.done()
        for future, value in zip(found, values):
            (future.set_exception if isinstance(value, Exception) else future.set_result)(value)
        return before, together.done(), [one.wait() for one in together.wait()], futures.wait_all(found)

    def backend(name: Any) -> Any:
        torch.compiler.set_default_backend(name)
        found = torch.compiler.get_default_backend()
        torch.compiler.set_default_backend(None)
        return found, torch.compiler.get_default_backend()

    return attempts(
        """
        made(1, 2)
        made()
        made(1, ValueError("x"))
        backend("eager")
        backend(None)
        backend(3)
        torch.typename(3)
        torch.typename("a")
        torch.typename(torch.nn.Parameter).rpartition(".")[2]
        torch.typename(torch.nn.Linear(1, 1)).rpartition(".")[2]
        torch.typename(torch.float32).rpartition(".")[2]
        torch.accelerator.device_index(None).__enter__()
    """,
        {"torch": torch, "made": made, "backend": backend},
    )


@DOCSTRINGS
def compressed(torch: Any) -> Any:
    """The compressed layouts: what they hold, compute and refuse."""
    d = torch.tensor([[1.0, 0, 2, 0], [0, 0, 3, 0], [0, 4, 0, 5], [6, 0, 0, 0]])
    hybrid = torch.tensor([[[1.0], [0]], [[0], [2]], [[0], [0]], [[3], [4]]])
    found = {}
    for name, sizes in LAYOUTS.items():
        s = getattr(d, f"to_sparse_{name}")(*sizes)
        h = getattr(hybrid, f"to_sparse_{name}")(*sizes, dense_dim=1)
        texts = (
            """
            s.layout, s.is_sparse, s.is_sparse_csr, s._nnz(), s.sparse_dim(), s.dense_dim(), s.shape, s.dtype
            s.crow_indices()
            s.col_indices()
            s.ccol_indices()
            s.row_indices()
            s.indices()
            s.is_coalesced()
            s.values()
            repr(s)
            s.to_dense()
            repr(s.t())
            repr(s.to_sparse())
            s.to_sparse().is_coalesced()
            repr(s * 2)
            repr(-s)
            repr(s.to(torch.float64))
            h.layout, h._nnz(), h.dense_dim(), h.values(), h.to_dense()
            repr(h.to_sparse())
        """
            + (
                "s @ d\ns @ d[0]\nd @ s\n(s @ s).to_dense()\nrepr(s + s)\nrepr(torch.zeros_like(s))\ns.sum()\n"
                "repr(s.to_sparse_csr())\nrepr(s.to_sparse_csc())\nrepr(s.to_sparse_bsr((1, 2)))"
            )
            * (name in ("csr", "csc"))
        )
        found[name] = attempts(texts, {"s": s, "h": h, "d": d, "torch": torch})
    made = attempts(
        """
        repr(torch.sparse_csr_tensor([0, 2, 4], [0, 1, 0, 1], [1, 2, 3, 4]))
        repr(torch.sparse_csc_tensor([0, 2, 4], [0, 1, 0, 1], [1.0, 2, 3, 4], (3, 2), dtype=torch.float64))
        repr(torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
        repr(torch.sparse_bsc_tensor([0, 1, 2], [0, 1], [[[1, 2]], [[5, 6]]]))
        repr(torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csc))
        torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
        torch.sparse_bsr_tensor([0, 2, 4], [0, 1, 0, 1], [1, 2, 3, 4])
        repr(torch.sparse_csr_tensor([0, 1, 2], [0, 1], [[1.0], [2.0]]))
        repr(d.to_sparse_coo())
        d.to_sparse(layout=torch.sparse_csr, blocksize=(2, 2))
        d.to_sparse(layout=torch.sparse_bsr)
        d.to_sparse(layout=torch.sparse_bsr, blocksize=(3, 2))
        d.to_sparse(layout=torch.sparse_bsc, blocksize=(2,))
        d.to_sparse_bsr((0, 2))
        repr(torch.sparse.spdiags(n, torch.tensor([0, -1, -2]), (3, 3)))
        repr(torch.sparse.spdiags(n, torch.tensor([0, 1, 2]), (5, 5), layout=torch.sparse_csc))
        repr(torch.sparse.spdiags(n[0], torch.tensor(-1), (2, 3)))
        torch.sparse.spdiags(n, torch.tensor([0, -1, -1]), (3, 3))
        torch.sparse.spdiags(n, torch.tensor([0, -1]), (3, 3))
        torch.sparse.spdiags(n, torch.tensor([0, -1, 1.0]), (3, 3))
        torch.sparse.spdiags(n, torch.tensor([0, -1, 1]), (3, 3, 1))
    """,
        {"torch": torch, "d": d, "n": torch.arange(9).reshape(3, 3)},
    )
    return found, made


@DOCSTRINGS
def library(torch: Any) -> Any:
    """Library, define, impl: which function answers, how arguments are bound, what is refused."""
    import importlib

    m = importlib.import_module(f"{torch.__name__}.library")
    space = f"docstrings{next(_numbers)}"
    lib = m.Library(space, "DEF")
    lib.define("scaled(Tensor x, float by=2., *, int[] dims=[1, 2], bool flag=False) -> Tensor")
    lib.define("both.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=torch.Tag.pt2_compliant_tag)
    lib.define("both(Tensor x) -> Tensor")
    lib.define("square(Tensor x) -> Tensor")
    lib.define("unwritten(Tensor x) -> Tensor")
    lib.impl("scaled", lambda x, by=2.0, **named: x * by + len(named), "CPU")
    lib.impl("both.out", lambda x, out: out.copy_(x), "CPU")
    lib.impl("both", lambda x: x.clone(), "CPU")
    lib.impl("both", lambda x: torch.empty_like(x), "Meta")
    lib.impl("square", lambda x: x * x)
    m.define(f"{space}::numpys", "(Tensor x, float by=1.) -> Tensor")
    m.impl(f"{space}::numpys", "cpu", lambda x, by=1.0: torch.from_numpy(x.numpy() * by))
    m.register_autograd(
        f"{space}::numpys",
        lambda ctx, grad: (grad * ctx.by, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]),
    )
    m.register_vmap(
        f"{space}::numpys", lambda info, in_dims, x, by=1.0: (x * by + info.batch_size, in_dims[0])
    )
    ops, x = getattr(torch.ops, space), torch.ones(2)

    def grad(f: Any) -> Any:
        leaf = torch.tensor([3.0], requires_grad=True)
        f(leaf).sum().backward()
        return leaf.grad

    def kind(f: Any) -> Any:
        try:
            return f()
        except Exception as error:  # noqa: BLE001 - the answer
            return type(error).__name__

    return attempts(
        """
        ops.scaled(x)
        ops.scaled(x, 3.0, dims=[4])
        ops.scaled(x=x, flag=True)
        kind(lambda: ops.scaled("a"))
        kind(lambda: ops.scaled(x, nope=3))
        kind(lambda: ops.scaled())
        kind(lambda: ops.scaled(x.to("meta")))
        kind(lambda: ops.unwritten(x))
        kind(lambda: ops.nothing)
        ops.both(x, out=torch.zeros(2)), ops.both(x), ops.both.overloads()
        ops.both(x.to("meta")).shape
        str(ops.both).partition(".")[2]
        grad(ops.square), grad(ops.scaled), grad(lambda x: ops.numpys(x, 5.0))
        torch.vmap(ops.numpys)(torch.ones(2, 3))
        m.get_kernel("aten::add.Tensor", "CPU").call_boxed(keys, x, x)
        kind(lambda: m.get_kernel("aten::nothing", "CPU"))
        kind(lambda: lib.define("both(Tensor x) -> Tensor"))
        kind(lambda: lib.define("neither"))
        kind(lambda: lib.impl("both", len, "Nowhere"))
        kind(lambda: m.Library(lib.ns, "DEF"))
        kind(lambda: m.Library("another", "OTHER"))
        kind(lambda: m.define("noname", "(Tensor x) -> Tensor"))
    """,
        {
            "torch": torch,
            "m": m,
            "lib": lib,
            "ops": ops,
            "x": x,
            "grad": grad,
            "kind": kind,
            "keys": torch._C.DispatchKeySet(torch._C.DispatchKey.CPU) if torch.__name__ == "torch" else None,
        },
    )
