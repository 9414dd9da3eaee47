"""The floor under a workload: the bytes that it must move over the machine's bandwidth, or its floating-point
operations over the machine's peak, whichever takes longer.

Each operand is read once and each result written once; only products, convolutions and attention are counted
as operations, a backward as twice its forward. Bandwidth and peak are the best that NumPy's addition of large
arrays, and products by its BLAS or by Rushlight, reach on as many threads.
"""

from __future__ import annotations

from benchmarks.measure import fresh

L = 4096 * 1024 * 4  # bytes of the large operands
_BN = 16 * 64 * 56 * 56 * 4
_ROWS = 16384 * 256 * 4
_TABLE = 32768 * 256 * 4
_GPT2 = 6 * 12 * 768**2


def _linear(rows: int, *sizes: int) -> float:
    """A training step of linear layers: three products of each, but for the gradient of the input."""
    products = [2 * rows * a * b for a, b in zip(sizes, sizes[1:], strict=False)]
    return 3.0 * sum(products) - products[0]


def _gpt(rows: int, time: int, width: int, layers: int, words: int) -> float:
    """A training step: 12 width^2 weights a layer, causal attention, the last layer's words."""
    layer = 12 * width**2 + time * width
    return 3.0 * 2 * rows * time * (layers * layer + width * words)


def _conv(images: int, inside: int, outside: int, kernel: int, side: int) -> float:
    return 2.0 * images * inside * outside * kernel**2 * side**2


_CNN = 2 * _conv(64, 1, 32, 3, 26) + 3 * _conv(64, 32, 64, 3, 24) + 3 * 2 * 64 * 64 * 144 * 10
_RESNET = 2 * _conv(8, 3, 64, 7, 32) + 3 * (
    4 * _conv(8, 64, 64, 3, 16)
    + sum(
        _conv(8, a, 2 * a, 3, s) + 3 * _conv(8, 2 * a, 2 * a, 3, s) + _conv(8, a, 2 * a, 1, s)
        for a, s in ((64, 8), (128, 4), (256, 2))
    )
    + 2 * 8 * 512 * 1000
)
_LSTM = 3 * 2 * 32 * 64 * 4 * 256 * (128 + 256 + 256 + 256)
_ATTENTION = 2.0 * 4 * 8 * 512 * 512 * 64  # half of the scores and of their products with values

# Bytes and operations, by workloads' names.
WORK: dict[str, tuple[float, float]] = {
    "mlp_step": (0, _linear(64, 20, 64, 32, 2)),
    "mlp_step_compiled": (0, _linear(64, 20, 64, 32, 2)),
    "compiled_mlp_default": (0, _linear(64, 20, 64, 32, 2)),
    "compiled_mlp_wide": (0, _linear(64, 784, 256, 256, 10)),
    **dict.fromkeys(
        ("char_gpt_step", "compiled_char_gpt", "compiled_char_gpt_bf16", "compiled_char_gpt_model"),
        (0, _gpt(12, 64, 128, 4, 96)),
    ),
    "compiled_cnn": (0, _CNN),
    "compiled_resnet": (0, _RESNET),
    "compiled_lstm": (0, _LSTM),
    "compiled_chain": (L, 0),
    "gpt2_prefill": (4 * (_GPT2 + 50257 * 768), 2 * 128 * _GPT2),
    "gpt2_prefill_bf16": (2 * (_GPT2 + 50257 * 768), 2 * 128 * _GPT2),
    "gpt2_decode": (4 * (_GPT2 + 50257 * 768), 0),
    "gpt2_decode_bf16": (2 * (_GPT2 + 50257 * 768), 0),
    "add": (2 * L, 0),
    "add_backward": (4 * L, 0),
    "sum": (L, 0),
    "sum_backward": (2 * L, 0),
    "sum_rows": (L, 0),
    "sum_rows_backward": (2 * L, 0),
    "cross_entropy": (L, 0),
    "cross_entropy_backward": (3 * L, 0),
    **{
        f"{name}{way}": (of * L, 0)
        for name in ("exp", "gelu", "softmax", "layer_norm")
        for way, of in (("", 2), ("_backward", 5))
    },
    "matmul": (0, 2 * 512**3),
    **{
        f"kernel_{name}": (L, 0)
        for name in (
            "sum",
            "sum_0",
            "var",
            "var_0",
            "var_1",
            "argmax_1",
            "topk_10",
            "logsumexp_1",
            "cross_entropy",
            "rand",
            "randn",
        )
    },
    **{
        f"kernel_{name}": (2 * L, 0)
        for name in (
            "gelu",
            "exp",
            "tanh",
            "softmax_-1",
            "cumsum_0",
            "cumsum_1",
            "dropout",
            "layer_norm",
            "index_select",
            "transpose",
        )
    },
    "kernel_add": (3 * L, 0),
    "kernel_index_add": (3 * L, 0),
    "kernel_sort_1": (4 * L, 0),
    "kernel_layer_norm_both": (5 * L, 0),
    "kernel_sdpa": (0, _ATTENTION),
    "kernel_sdpa_both": (0, 3 * _ATTENTION),
    "kernel_matmul": (0, 2 * 1024**3),
    "kernel_matmul_bf16": (0, 2 * 1024**3),
    "kernel_conv": (0, _conv(16, 64, 64, 3, 56)),
    "kernel_max_pool": (16 * 64 * 112 * 112 * 5, 0),
    "kernel_batch_norm": (2 * _BN, 0),
    "kernel_embedding": (2 * _ROWS, 0),
    "kernel_embedding_both": (3 * _ROWS + _TABLE, 0),
    "kernel_embedding_backward": (_ROWS + _TABLE, 0),
    "kernel_adamw": (7 * 4e7, 0),
}

BANDWIDTH = """
import numpy as np, time
from concurrent.futures import ThreadPoolExecutor
a, b, c = (np.ones(%d, np.float32) for _ in range(3))
cuts = [slice(len(a) * i // THREADS, len(a) * (i + 1) // THREADS) for i in range(THREADS)]
with ThreadPoolExecutor(THREADS) as pool:
    def once():
        start = time.perf_counter()
        list(pool.map(lambda s: np.add(a[s], b[s], c[s]), cuts))
        return time.perf_counter() - start
    print(3 * a.nbytes / min(once() for _ in range(50)))
""" % (L // 4)
PEAK = """
import rushlight, time
rushlight.set_num_threads(THREADS)
a, b = (rushlight.rand(2048, 2048, dtype=rushlight.DTYPE) for _ in range(2))
pairs = [(a, b)] if "DTYPE" == "bfloat16" else [(a, b), (a.numpy(), b.numpy())]
def once(a, b):
    start = time.perf_counter()
    a @ b
    return time.perf_counter() - start
print(2 * 2048 ** 3 / min(once(*pair) for _ in range(6) for pair in pairs))
"""


class Machine:
    """What this machine reaches, in bytes and operations a second."""

    def __init__(self, python: str, threads: int) -> None:
        self.bandwidth = fresh(python, BANDWIDTH.replace("THREADS", str(threads)), threads)
        peak = PEAK.replace("THREADS", str(threads))
        self.peak, self.narrow = (
            fresh(python, peak.replace("DTYPE", of), threads) for of in ("float32", "bfloat16")
        )

    def floor(self, name: str) -> float | None:
        """Seconds that a workload takes at least, where that is known."""
        moved, operations = WORK.get(name, (0, 0))
        peak = self.narrow if "bf16" in name else self.peak
        return max(moved / self.bandwidth, operations / peak) or None

    def __str__(self) -> str:
        return (
            f"{self.bandwidth / 1e9:.0f} GB/s and {self.peak / 1e9:.0f} GFLOP/s, in bfloat16 "
            f"{self.narrow / 1e9:.0f}"
        )
