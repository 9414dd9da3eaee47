"""Single kernels on large operands. None may take more than 1.5 of PyTorch's time; all together, 0.9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads import LARGE, workload

Call = Callable[[], Any]
MEAN_BAR, EACH_BAR, PREFIX = 0.9, 1.5, "kernel_"


def kernel(title: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter a workload whose name begins with PREFIX."""
    return workload(f"kernel: {title}", EACH_BAR)


def _of_large(name: str, *args: Any) -> None:
    def prepare(torch: Any) -> Call:
        x = torch.randn(*LARGE)
        op = getattr(torch.nn.functional if name in ("gelu", "dropout") else torch, name)
        return lambda: op(x, *args)

    prepare.__name__ = "_".join(map(str, (f"{PREFIX}{name}", *args)))
    kernel(" ".join(map(str, (name, *args))) + ", 4096 x 1024")(prepare)


for _name, *_args in (
    ("gelu",),
    ("exp",),
    ("tanh",),
    ("sum",),
    ("sum", 0),
    ("var",),
    ("var", 0),
    ("var", 1),
    ("argmax", 1),
    ("softmax", -1),
    ("logsumexp", 1),
    ("cumsum", 0),
    ("cumsum", 1),
    ("sort", 1),
    ("topk", 10),
    ("dropout",),
):
    _of_large(_name, *_args)


@kernel("add, 4096 x 1024")
def kernel_add(torch: Any) -> Call:
    a, b = torch.randn(*LARGE), torch.randn(*LARGE)
    return lambda: a + b


@kernel("layer_norm, 4096 x 1024")
def kernel_layer_norm(torch: Any) -> Call:
    x, weight, bias = torch.randn(*LARGE), torch.randn(1024), torch.randn(1024)
    return lambda: torch.nn.functional.layer_norm(x, (1024,), weight, bias)


@kernel("layer_norm, 4096 x 1024, forward and backward")
def kernel_layer_norm_both(torch: Any) -> Call:
    layer, x, g = torch.nn.LayerNorm(1024), torch.randn(*LARGE, requires_grad=True), torch.randn(*LARGE)

    def call() -> None:
        x.grad = layer.weight.grad = layer.bias.grad = None
        layer(x).backward(g)

    return call


@kernel("cross_entropy, 4096 x 1024")
def kernel_cross_entropy(torch: Any) -> Call:
    x, target = torch.randn(*LARGE), torch.randint(1024, (4096,))
    return lambda: torch.nn.functional.cross_entropy(x, target)


def _sdpa(torch: Any, tracked: bool) -> Any:
    return [torch.randn(4, 8, 512, 64).requires_grad_(tracked) for _ in range(3)]


@kernel("scaled_dot_product_attention, 4 x 8 heads, 512 x 64")
def kernel_sdpa(torch: Any) -> Call:
    q, k, v = _sdpa(torch, False)
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@kernel("scaled_dot_product_attention, forward and backward")
def kernel_sdpa_both(torch: Any) -> Call:
    q, k, v = _sdpa(torch, True)
    g = torch.randn(4, 8, 512, 64)

    def call() -> None:
        q.grad = k.grad = v.grad = None
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)

    return call


def _matmul(torch: Any, dtype: Any) -> Call:
    a, b = (torch.randn(1024, 1024).to(dtype) for _ in "ab")
    return lambda: a @ b


@kernel("matmul, 1024 x 1024, float32")
def kernel_matmul(torch: Any) -> Call:
    return _matmul(torch, torch.float32)


@kernel("matmul, 1024 x 1024, bfloat16")
def kernel_matmul_bf16(torch: Any) -> Call:
    return _matmul(torch, torch.bfloat16)


@kernel("conv2d, 16 x 64 x 56 x 56, 3 x 3")
def kernel_conv(torch: Any) -> Call:
    x, weight = torch.randn(16, 64, 56, 56), torch.randn(64, 64, 3, 3)
    return lambda: torch.nn.functional.conv2d(x, weight, padding=1)


@kernel("max_pool2d, 16 x 64 x 112 x 112")
def kernel_max_pool(torch: Any) -> Call:
    x = torch.randn(16, 64, 112, 112)
    return lambda: torch.nn.functional.max_pool2d(x, 3, 2, 1)


@kernel("batch_norm in training, 16 x 64 x 56 x 56")
def kernel_batch_norm(torch: Any) -> Call:
    layer, x = torch.nn.BatchNorm2d(64), torch.randn(16, 64, 56, 56)
    return lambda: layer(x)


@kernel("embedding, 16384 rows of 256")
def kernel_embedding(torch: Any) -> Call:
    weight, indices = torch.randn(32768, 256), torch.randint(32768, (16384,))
    return lambda: torch.nn.functional.embedding(indices, weight)


@kernel("embedding, forward and backward")
def kernel_embedding_both(torch: Any) -> Call:
    weight = torch.randn(32768, 256, requires_grad=True)
    indices, g = torch.randint(32768, (16384,)), torch.randn(16384, 256)

    def call() -> None:
        weight.grad = None
        torch.nn.functional.embedding(indices, weight).backward(g)

    return call


@kernel("embedding, backward alone")
def kernel_embedding_backward(torch: Any) -> Call:
    weight = torch.randn(32768, 256, requires_grad=True)
    indices, g = torch.randint(32768, (16384,)), torch.randn(16384, 256)
    out = torch.nn.functional.embedding(indices, weight)

    def call() -> None:
        weight.grad = None
        out.backward(g, retain_graph=True)

    return call


@kernel("index_select, 4096 of 4096 rows")
def kernel_index_select(torch: Any) -> Call:
    x, rows = torch.randn(*LARGE), torch.randint(4096, (4096,))
    return lambda: x.index_select(0, rows)


@kernel("index_add, 4096 of 4096 rows")
def kernel_index_add(torch: Any) -> Call:
    x, more, rows = torch.randn(*LARGE), torch.randn(*LARGE), torch.randint(4096, (4096,))
    return lambda: x.index_add(0, rows, more)


@kernel("transposed copy, 4096 x 1024")
def kernel_transpose(torch: Any) -> Call:
    x = torch.randn(*LARGE)
    return lambda: x.t().contiguous()


@kernel("rand, 4096 x 1024")
def kernel_rand(torch: Any) -> Call:
    return lambda: torch.rand(*LARGE)


@kernel("randn, 4096 x 1024")
def kernel_randn(torch: Any) -> Call:
    return lambda: torch.randn(*LARGE)


@kernel("AdamW step, 10 M parameters")
def kernel_adamw(torch: Any) -> Call:
    parameter = torch.nn.Parameter(torch.randn(10_000_000))
    parameter.grad = torch.randn(10_000_000)
    optimizer = torch.optim.AdamW([parameter])
    return lambda: optimizer.step()
