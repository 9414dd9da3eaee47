"""A call has the same bits as any other with the same operands, in this process or another."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime import tiers
from rushlight.nn import functional as F

pytest.importorskip("llvmlite")


def digests(which, directory, **variables):
    """What same_bits.py says in a new process."""
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(directory), **variables}
    found = subprocess.run(
        [sys.executable, "-m", "tests.engine.ops.same_bits", which],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1500,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


def _both(which, directory):
    """The digests with an empty cache and two threads; with the cache that these left and one thread."""
    empty = digests(which, directory, RUSHLIGHT_NUM_THREADS="2")
    return empty, digests(which, directory, RUSHLIGHT_NUM_THREADS="1")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """`_both` of each kind, which run beside each other."""
    kinds = ("rows", "sizes")
    with ThreadPoolExecutor(len(kinds)) as pool:
        return dict(zip(kinds, pool.map(_both, kinds, map(tmp_path_factory.mktemp, kinds)), strict=True))


@pytest.mark.parametrize(("which", "cases"), [("rows", 3000), ("sizes", 800)])
def test_first_and_last_call_empty_and_full_cache_one_and_two_threads(which, cases, found):
    empty, full = found[which]
    assert empty["changed"] == full["changed"] == []
    assert len(empty["first"]) > cases
    other = [name for name, bits in empty["first"].items() if full["first"][name] != bits]
    assert not other, other


def functions():
    """(name, call) of functions that users compare with themselves."""
    torch.manual_seed(0)
    x, y, t = torch.randn(64, 33), torch.rand(64, 33) + 0.5, torch.randint(0, 33, (64,))
    names = "exp tanh sigmoid erf sin cos tan atan asinh sinh cosh expm1 relu abs neg square sum mean var std prod"
    found = {n: getattr(torch, n) for n in names.split()}
    found |= {n: getattr(F, n) for n in "gelu softplus mish silu elu selu hardswish logsigmoid".split()}
    calls = {n: partial(f, x) for n, f in found.items()}
    names = "log log2 log10 log1p sqrt rsqrt lgamma digamma reciprocal"
    calls |= {n: partial(getattr(torch, n), y) for n in names.split()}
    calls |= {
        "atan2": partial(torch.atan2, x, y),
        "pow": partial(torch.pow, y, 1.7),
        "pow of tensors": partial(torch.pow, y, x),
        "softmax": partial(F.softmax, x, -1),
        "log_softmax": partial(F.log_softmax, x, -1),
        "layer_norm": partial(F.layer_norm, x, (33,)),
        "kl_div": partial(F.kl_div, x, y, reduction="batchmean"),
        "cross_entropy": partial(F.cross_entropy, x, t),
        "matmul": partial(torch.matmul, x, x.T),
        "logsumexp": partial(torch.logsumexp, x, -1),
        "group_norm": partial(F.group_norm, x, 3),
    }
    return calls.items()


@pytest.mark.parametrize(("name", "call"), [pytest.param(n, c, id=n) for n, c in functions()])
def test_a_function_equals_itself(name, call):
    first = call()
    with settings.using(hot_calls=30):
        assert all(torch.equal(call(), first) for _ in range(100))
    tiers.wait()
    assert torch.equal(call(), first)
