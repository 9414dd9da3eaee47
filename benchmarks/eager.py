"""python -m benchmarks.eager: every op of the first tier, forward, at three sizes; ratios and their mean.

CALLS says what is called for each, over operands of about n elements. Both frameworks run the same, in
processes of their own, in turn; the processor's time is compared, which other programs change little.
`--write` puts the table into docs/performance.md, under its heading.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

from benchmarks.measure import Result, Worker, compare
from benchmarks.page import PAGE, write_section
from benchmarks.workloads import Workload

SIZES = {"16": 16, "16k": 1 << 14, "4M": 1 << 22}
HEADING = "## Eager speed, op by op"

# Where several ops of PyTorch's list are one call here (aliases, variants), one stands for them.
CALLS = """
abs(x); add(x, y); arange(n); exponential: e.exponential_(); normal_: e.normal_(); uniform: e.uniform_()
clamp(x, -1, 1); clamp_max(x, 0.5); clamp_min(x, 0.5); mul(x, y); sub(x, y); addmm(a, a, b)
addbmm(bm[0], bm, bm); baddbmm(bm, bm, bm); dot(v, v); bmm(bm, bm); addcmul(x, y, p); addcdiv(x, y, p)
allclose(x, x); isclose(x, y); broadcast_to: row.broadcast_to(s, s); bitwise_not(i); ceil(x); chunk(x, 4)
clone(x); contiguous: x.T.contiguous(); view_as_real(c); view_as_complex(pairs); cos(x); cumsum(x, 1)
cumsum.dim_0: torch.cumsum(x, 0); cumprod(p, 1); diff(x); div(x, p)
div.trunc: torch.div(x, p, rounding_mode='trunc'); div.floor: torch.div(x, p, rounding_mode='floor')
equal(x, x); exp(x); expand: row.expand(s, s); diag(row); diagonal(x); eq(x, y); fmod(x, p); remainder(x, p)
stft(v, 16, 8, window=w16, return_complex=True); floor(x); flip(x, (0, 1)); floor_divide(i, j); log1p(p)
gt(x, y); ge(x, y); isin(i, row_i); le(x, y); linspace(0, 1, n); log(p); logical_not(k); lt(x, y)
masked_fill(x, k, 0.5); masked_scatter(x, k, y); masked_select(x, k); matmul(a, b); max(x, 1)
max.all: torch.max(x); var_mean(x, 1); var_mean.all: torch.var_mean(x); meshgrid(row, row, indexing='ij')
min(x, 1); min.all: torch.min(x); maximum(x, y); minimum(x, y); logical_and(k, k); logical_or(k, k)
logical_xor(k, k); bitwise_and(i, j); bitwise_or(i, j); softmax(x, 1)
softmax.dtype: torch.softmax(x, 1, dtype=torch.float64); cross_entropy: F.cross_entropy(x, classes)
normalize: F.normalize(x); as_strided(x, (s, s // 2), (s, 2)); cosine_similarity: F.cosine_similarity(x, y)
adaptive_avg_pool1d: F.adaptive_avg_pool1d(x3, 2); adaptive_avg_pool2d: F.adaptive_avg_pool2d(img, 2)
adaptive_max_pool2d: F.adaptive_max_pool2d(img, 2); avg_pool1d: F.avg_pool1d(x3, 2)
avg_pool2d: F.avg_pool2d(img, 2); binary_cross_entropy_with_logits: F.binary_cross_entropy_with_logits(x, p)
relu(x); conv_transpose1d: F.conv_transpose1d(x3, k1.transpose(0, 1))
conv_transpose2d: F.conv_transpose2d(img, k2.transpose(0, 1)); conv1d: F.conv1d(x3, k1, padding=1)
conv2d: F.conv2d(img, k2, padding=1); conv3d: F.conv3d(vol, k3, padding=1); group_norm: F.group_norm(img, 2)
instance_norm: F.instance_norm(img); layer_norm: F.layer_norm(x, (s,)); rms_norm: F.rms_norm(x, (s,))
pad: F.pad(x, (1, 1, 1, 1)); pad.reflect: F.pad(img, (1, 1, 1, 1), mode='reflect'); hardswish: F.hardswish(x)
unfold: F.unfold(img, 2, stride=2); interpolate.nearest: F.interpolate(img, scale_factor=2)
interpolate.linear: F.interpolate(x3, scale_factor=2, mode='linear')
interpolate.bilinear: F.interpolate(img, scale_factor=2, mode='bilinear')
interpolate.bicubic: F.interpolate(img, scale_factor=2, mode='bicubic'); leaky_relu: F.leaky_relu(x)
max_pool1d: F.max_pool1d(x3, 2); max_pool2d: F.max_pool2d(img, 2); linear: F.linear(a, b, a[0]); glu: F.glu(x)
elu: F.elu(x); prelu: F.prelu(x, slope); scaled_dot_product_attention: F.scaled_dot_product_attention(q, q, q)
silu: F.silu(x); hardsigmoid: F.hardsigmoid(x); logsigmoid: F.logsigmoid(x); mish: F.mish(x)
to: x.to(torch.float64); topk(x, 2); batch_norm: F.batch_norm(img, None, None, training=True)
binary_cross_entropy: F.binary_cross_entropy(p, p); hardtanh: F.hardtanh(x); gelu: F.gelu(x)
relu6: F.relu6(x); mm(a, b); ne(x, y); narrow(x, 0, 1, s // 2); neg(x); outer(row, row)
permute(x3, (2, 0, 1)); pow(p, 2.5); roll(x, 1, 0); round(x); round.decimals: torch.round(x, decimals=3)
sign(x); sin(x); split(x, 2); split_with_sizes: x.split_with_sizes([1, s - 1]); radd: 2 + x; rdiv: 2 / p
rmul: 2 * x; rpow: 2 ** x; rsub: 2 - x; select(x, 0, 1); tan(x); tanh(x); tensor_split(x, 3); expm1(x)
nan_to_num(x); reciprocal(p); rsqrt(p); sqrt(p); square(x); lerp(x, y, 0.3); isfinite(x); isinf(x); isnan(x)
einsum('ij,jk->ik', a, b); polar(p, x); ravel(x); reshape: x.T.reshape(-1); view: x.view(-1); flatten(x)
unflatten(x, 1, (2, -1)); gather(x, 1, at); index_fill(x, 0, few, 0.5); index_copy(x, 0, few, x[few])
index_select(x, 0, every); index_add(x, 0, every, y); getitem: x[every]; getitem.mask: x[k]
getitem.slice: x[1:, ::2]; index_put(x, (every,), y); sort(x); sort.dim_0: torch.sort(x, 0); unique(i)
scatter(x, 1, at, y); bfloat16: x.bfloat16(); bool: x.bool(); double: x.double(); float: xd.float()
half: x.half(); int: x.int(); long: x.long(); empty_like(x); zeros_like(x); ones_like(x); randn(s, s)
randn_like(x); rand(s, s); rand_like(x); randint(0, 9, (s, s)); full_like(x, 2); new_zeros: x.new_zeros(s, s)
ones(s, s); zeros(s, s); full((s, s), 2.0); empty(s, s); eye(s); scalar_tensor(2.0)
multinomial(p[0], 4, True); normal(x, p); bernoulli(p); scatter_add(x, 1, at, y); stack((x, y))
hstack((x, y)); vstack((x, y)); cat((x, y), 1); bucketize(x, edges); searchsorted(edges, x); unbind(x[:8])
movedim(x3, 0, 2); repeat: row.repeat(s, 1); squeeze(x); fill: torch.fill(x, 2); take_along_dim(x, at, 1)
tile(row, (s, 1)); unsqueeze(x, 0); zero_: e.zero_(); logsumexp(x, 1); transpose(x, 0, 1); tril(x); triu(x)
sigmoid(x); erf(x); smooth_l1_loss: F.smooth_l1_loss(x, y); l1_loss: F.l1_loss(x, y); log_softmax(x, 1)
where(k, x, y); nonzero(k); norm(x); norm.dim: torch.norm(x, dim=1); norm.inf: torch.norm(x, float('inf'))
t: x.t(); dropout: F.dropout(x); dropout2d: F.dropout2d(img); one_hot: F.one_hot(row_i, 16)
embedding: F.embedding(few, x); embedding_bag: F.embedding_bag(at[:, :2], x); softplus: F.softplus(x)
mse_loss: F.mse_loss(x, y); multi_head_attention: mha(qs, qs, qs, need_weights=False)
grid_sample: F.grid_sample(img, grid, align_corners=False); all(k); any(k); amax(x, 1); amin(x, 1)
argmax(x, 1); argmin(x, 1); mean(x); mean.dim: torch.mean(x, 0); std(x, 1); std.all: torch.std(x); var(x, 1)
var.all: torch.var(x); var.dim_0: torch.var(x, 0); prod(p); sum(x); sum.dim: torch.sum(x, 1)
sum.dim_0: torch.sum(x, 0); ctc_loss: F.ctc_loss(logp, words, lengths, lengths // 2)
nll_loss: F.nll_loss(x, classes); huber_loss: F.huber_loss(x, y); argsort(x); repeat_interleave(x, 2, 0)
pixel_shuffle: F.pixel_shuffle(img, 2); kl_div: F.kl_div(x, p)
scatter_reduce.sum: x.scatter_reduce(1, at, y, 'sum'); scatter_reduce.prod: x.scatter_reduce(1, at, y, 'prod')
scatter_reduce.mean: x.scatter_reduce(1, at, y, 'mean')
scatter_reduce.amax: x.scatter_reduce(1, at, y, 'amax'); vector_norm: torch.linalg.vector_norm(x)
lu_solve: torch.linalg.solve(well, well); inverse: torch.linalg.inv(well)
"""


@lru_cache(maxsize=1)
def operands(torch: Any, n: int) -> dict[str, Any]:
    """What the calls mention: side s with s * s = n, and shapes of about n elements for other ops."""
    s, r = math.isqrt(n), torch.randn
    side, batch = min(s, 512), min(max(n // 256, 1), 64)  # of matrices whose product is not the whole run
    m, h = min(side, 16), math.isqrt(n // 4) // 2 * 2  # pixels of an image of four channels
    x = r(s, s)
    q = r(1, 2, min(max(s // 2, 2), 512), min(max(s // 4, 2), 64))
    steps = min(max(n // 256, 8), 512)
    depth = max(2, round((n / 4) ** (1 / 3)))
    whole = {
        "x": x,
        "y": r(s, s),
        "p": torch.rand(s, s) * 0.8 + 0.1,
        "e": r(s, s),
        "xd": x.double(),
        "v": r(n),
        "row": r(s),
        "i": torch.randint(0, s, (s, s)),
        "j": torch.randint(1, 9, (s, s)),
        "k": x > 0,
        "c": torch.complex(x, x),
        "pairs": r(s, s, 2),
        "row_i": torch.randint(0, 16, (s,)),
        "at": torch.randint(0, s, (s, s)),
        "few": torch.arange(0, s, 3),
        "every": torch.randperm(s),
        "classes": torch.randint(0, s, (s,)),
        "edges": torch.linspace(-2, 2, 33),
        "slope": torch.full((1,), 0.2),
    }
    parts = {
        "a": r(side, side),
        "b": r(side, side),
        "bm": r(batch, m, m),
        "well": r(m, m) + 4 * torch.eye(m),
        "x3": r(1, 4, n // 4),
        "img": r(1, 4, h, h),
        "vol": r(1, 4, depth, depth, depth),
        "k1": r(4, 4, 3),
        "k2": r(4, 4, 3, 3),
        "k3": r(4, 4, 3, 3, 3),
        "w16": torch.ones(16),
        "q": q,
        "qs": q[0].transpose(0, 1).reshape(q.shape[2], 1, -1),
        "grid": torch.rand(1, h, h, 2) * 2 - 1,
        "logp": r(steps, 2, 8).log_softmax(-1),
        "words": torch.randint(1, 8, (2, steps // 2)),
        "lengths": torch.full((2,), steps),
    }
    mha = torch.nn.MultiheadAttention(parts["qs"].shape[2], 2).requires_grad_(False)
    return {"torch": torch, "F": torch.nn.functional, "n": n, "s": s, "mha": mha, **whole, **parts}


def calls() -> dict[str, str]:
    """The expression of each op by its name."""
    texts = [text.strip() for line in CALLS.strip().splitlines() for text in line.split("; ")]
    named = (re.fullmatch(r"([\w.]+): (.*)", text) for text in texts)
    return dict(
        found.groups() if found else (text.split("(")[0], f"torch.{text}")  # type: ignore[misc]
        for text, found in zip(texts, named, strict=True)
    )


def _workload(title: str, text: str, n: int) -> Workload:
    def prepare(torch: Any) -> Callable[[], Any]:
        found: Callable[[], Any] = eval(f"lambda: {text}", operands(torch, n))  # made once for a size
        return found

    return Workload(title, 3.0, prepare)


EAGER = {
    f"{name} {size}": _workload(f"{name} {size}", text, n)
    for size, n in SIZES.items()
    for name, text in calls().items()
}


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eager", description=__doc__)
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--only", default="", help="regular expression found in 'NAME SIZE'")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.004, help="about how long a round is")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    return parser.parse_args()


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def section(results: dict[str, Result]) -> str:
    """The heading, the means, and a table of the ratios of each op at each size."""

    def cell(name: str, size: str) -> str:
        found = results.get(f"{name} {size}")
        return "-" if found is None or found.error else f"{found.ratio:.2f}"

    means = {
        size: mean([r.ratio for key, r in results.items() if key.endswith(f" {size}") and not r.error])
        for size in SIZES
    }
    every = [r.ratio for r in results.values() if not r.error]
    names = sorted({key.rsplit(" ", 1)[0] for key in results})
    by_size = ", ".join(f"{size} elements {m:.2f}" for size, m in means.items())
    lines = [
        HEADING,
        "",
        f"`python -m benchmarks.eager --write`: {len(names)} calls of ops of the first "
        "tier, forward, float32, one thread;",
        "ratios of the processor's time, medians of a few interleaved rounds. Geometric mean "
        f"{mean(every):.2f} ({by_size}); {sum(ratio > 3 for ratio in every)} of {len(every)} are above 3.",
        "",
        "| op | " + " | ".join(SIZES) + " |",
        "|---" * 4 + "|",
    ]
    lines += ["| " + " | ".join([name, *(cell(name, size) for size in SIZES)]) + " |" for name in names]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the section where asked."""
    asked, results = options(), {}
    with ExitStack() as stack:
        workers = (
            stack.enter_context(Worker(sys.executable, "rushlight", asked.threads, cpu=True)),
            stack.enter_context(Worker(asked.torch_python, "torch", asked.threads, cpu=True)),
        )
        for name, workload in EAGER.items():
            if re.search(asked.only, name):
                found = results[name] = compare(
                    name, workload.title, workload.bar, workers, asked.rounds, asked.seconds
                )
                ours, theirs = (f"{seconds * 1e6:10.1f} us" for seconds in (found.ours, found.theirs))
                print(f"{found.title:36} {ours} {theirs} {found.ratio:6.2f}  {found.error}", flush=True)
    print("\n".join(section(results).splitlines()[2:4]))
    if asked.write:
        write_section(section(results))


if __name__ == "__main__":
    main()
