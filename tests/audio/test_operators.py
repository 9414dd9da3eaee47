"""torchaudio's operators beside their definitions, written out for small sizes."""

from __future__ import annotations

import math
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.fx.experimental.proxy_tensor import make_fx

torch.ops.load_library("somewhere/_torchaudio.abi3.so")
OPS = torch.ops.torchaudio


def recursive(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    for n in range(len(x)):
        for k in range(min(n + 1, len(a))):
            y[n] += b[k] * x[n - k] - (a[k] * y[n - k] if k else 0)
        y[n] /= a[0]
    return y


@pytest.mark.parametrize("kernels", ["numpy", "llvm"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_core_loop_is_the_recurrence(kernels: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 40, dtype=dtype)
    a = torch.tensor([[1.0, -0.5, 0.2], [1.0, 0.3, 0.1], [1.0, 0.0, -0.4]], dtype=dtype)
    output = torch.zeros(2, 3, 42, dtype=dtype)
    with settings.using(kernels=kernels):
        OPS._lfilter_core_loop(x, a.flip(1).contiguous(), output)
    for i in range(2):
        for c in range(3):
            want = recursive(x[i, c].double().numpy(), a[c].double().numpy(), np.array([1.0, 0, 0]))
            np.testing.assert_allclose(output[i, c, 2:].numpy(), want, rtol=2e-5, atol=1e-6)


def test_core_loop_has_the_same_bits_by_numpy() -> None:
    from rushlight._engine.kernels.loops import recurrence

    torch.manual_seed(1)
    x, a = torch.randn(6, 50).numpy(), torch.randn(3, 4).numpy() / 4
    first, second = np.zeros((6, 53), np.float32), np.zeros((6, 53), np.float32)
    recurrence.linear(x, a, first)
    recurrence._by_columns(x, a, second)
    assert first.any() and np.array_equal(first, second)


@pytest.mark.parametrize("kernels", ["numpy", "llvm"])
@pytest.mark.parametrize("sizes", [(0, 2, 5), (2, 0, 5), (2, 3, 0)])
def test_core_loop_of_nothing(kernels: str, sizes: tuple[int, int, int]) -> None:
    batch, channels, length = sizes
    output = torch.ones(batch, channels, length + 2)
    with settings.using(kernels=kernels):
        OPS._lfilter_core_loop(torch.ones(*sizes), torch.ones(channels, 3), output)
    assert output.eq(1).all()


def test_core_loop_refuses_what_does_not_fit() -> None:
    x, a, y = torch.randn(1, 2, 5), torch.randn(2, 3), torch.zeros(1, 2, 7)
    with pytest.raises(RuntimeError, match="one dtype"):
        OPS._lfilter_core_loop(x, a.double(), y)
    with pytest.raises(RuntimeError, match="contiguous"):
        OPS._lfilter_core_loop(x, torch.randn(3, 2).t(), y)
    with pytest.raises(RuntimeError, match="expected shapes"):
        OPS._lfilter_core_loop(x, a, torch.zeros(1, 2, 6))
    with pytest.raises(RuntimeError, match="expected shapes"):
        OPS._lfilter_core_loop(x, a[:, :0], torch.zeros(1, 2, 4))
    with pytest.raises(RuntimeError, match="float32 or float64"):
        OPS._lfilter_core_loop(x.int(), a.int(), y.int())


def test_filter_has_its_gradients() -> None:
    torch.manual_seed(2)
    x = torch.randn(2, 2, 9, dtype=torch.float64, requires_grad=True)
    a = torch.tensor([[1.2, -0.5, 0.2], [0.9, 0.3, 0.1]], dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    y = OPS._lfilter(x, a, b)
    want = recursive(*(t.detach().numpy() for t in (x[1, 0], a[0], b[0])))
    np.testing.assert_allclose(y[1, 0].detach().numpy(), want, rtol=1e-10)
    assert torch.autograd.gradcheck(OPS._lfilter, (x, a, b))


def test_overdrive_goes_on_where_it_ended() -> None:
    torch.manual_seed(3)
    waveform, temp = torch.randn(2, 2, 30, dtype=torch.float64)
    state = [torch.zeros(2, dtype=torch.float64) for _ in range(2)]
    whole = torch.empty_like(temp)
    OPS._overdrive_core_loop(waveform, temp, *(s.clone() for s in state), whole)
    high = [0.0]
    for n in range(30):
        high.append(float(temp[0, n] - (temp[0, n - 1] if n else 0)) + 0.995 * high[-1])
    np.testing.assert_allclose(whole[0], waveform[0].numpy() * 0.5 + np.array(high[1:]) * 0.75, rtol=1e-12)
    parts = [torch.empty(2, 15, dtype=torch.float64) for _ in range(2)]
    for i, part in enumerate(parts):
        chosen = slice(15 * i, 15 * (i + 1))
        OPS._overdrive_core_loop(waveform[:, chosen], temp[:, chosen], *state, part)
    assert torch.equal(torch.cat(parts, 1), whole)


def collapsed(path: list[int], blank: int) -> list[int]:
    kept = [label for i, label in enumerate(path) if i == 0 or path[i - 1] != label]
    return [label for label in kept if label != blank]


@pytest.mark.parametrize("targets", [[1, 2], [1, 1], [2, 1, 2], [2]])
def test_alignment_is_the_best_of_all(targets: list[int]) -> None:
    torch.manual_seed(4)
    scores = torch.randn(1, 5, 3).log_softmax(-1)
    paths, _ = OPS.forced_align(
        scores, torch.tensor([targets]), torch.tensor([5]), torch.tensor([len(targets)]), 0
    )
    every = [list(np.unravel_index(i, (3,) * 5)) for i in range(3**5)]
    possible = [path for path in every if collapsed(path, 0) == targets]
    best = max(possible, key=lambda path: float(scores[0, range(5), path].sum()))
    assert paths.tolist() == [best] and paths.dtype == torch.int64


def test_alignment_refuses_what_cannot_be() -> None:
    scores, one = torch.randn(1, 3, 4), torch.tensor([3])
    with pytest.raises(RuntimeError, match="too long for CTC.*length: 3, targets length: 3.*repeats: 2"):
        OPS.forced_align(scores, torch.tensor([[1, 1, 1]]), one, one, 0)
    with pytest.raises(RuntimeError, match="int32 or int64"):
        OPS.forced_align(scores, torch.tensor([[1.0]]), one, torch.tensor([1]), 0)
    with pytest.raises(RuntimeError, match="batch dimension for log_probs must be 1"):
        OPS.forced_align(torch.randn(2, 3, 4), torch.tensor([[1]]), one, torch.tensor([1]), 0)


def test_alignment_of_older_versions_has_the_scores_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    older = types.ModuleType("torchaudio")
    monkeypatch.setattr(older, "__version__", "2.8.0+cpu", raising=False)
    monkeypatch.setitem(sys.modules, "torchaudio", older)
    scores = torch.randn(1, 5, 3).log_softmax(-1)
    paths, chosen = OPS.forced_align(scores, torch.tensor([[1]]), torch.tensor([5]), torch.tensor([1]), 0)
    assert torch.equal(chosen, scores[:, torch.arange(5), paths[0]])


def transduced(logs: np.ndarray, targets: list[int], blank: int) -> float:
    """-log of the sum over all alignments of a (T, U + 1, classes) lattice."""
    length, width, _ = logs.shape
    alpha = np.full((length, width), -math.inf)
    alpha[0, 0] = 0.0
    for t in range(length):
        for u in range(width):
            if t:
                alpha[t, u] = np.logaddexp(alpha[t, u], alpha[t - 1, u] + logs[t - 1, u, blank])
            if u:
                alpha[t, u] = np.logaddexp(alpha[t, u], alpha[t, u - 1] + logs[t, u - 1, targets[u - 1]])
    return float(-(alpha[-1, -1] + logs[-1, -1, blank]))


def lengths(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


@pytest.mark.parametrize("fused", [True, False])
def test_transducer_is_the_sum_over_all(fused: bool) -> None:
    torch.manual_seed(5)
    logits = torch.randn(2, 4, 3, 5)
    logits[1, 3:] = math.nan  # beyond the second one's length
    logits = logits if fused else logits.log_softmax(-1)
    targets = lengths(1, 4, 2, 2).view(2, 2)
    given = (targets, lengths(4, 3), lengths(2, 1), 0, -1.0, fused)
    losses, grads = OPS.rnnt_loss_forward(logits, *given)
    logs = (logits.double().log_softmax(-1) if fused else logits.double()).numpy()
    want = [transduced(logs[0], [1, 4], 0), transduced(logs[1, :3, :2], [2], 0)]
    np.testing.assert_allclose(losses.numpy(), want, rtol=1e-6)
    assert not grads[1, 3].any() and not grads[1, :, 2].any()
    logits.requires_grad_()
    OPS.rnnt_loss(logits, *given)[0].sum().backward()
    assert torch.equal(logits.grad, grads)
    cut = OPS.rnnt_loss_forward(logits.detach(), *given[:-2], 0.05, fused)[1]
    assert torch.equal(cut, grads.clamp(-0.05, 0.05))


def test_transducer_refuses_what_does_not_fit() -> None:
    logits, targets = torch.randn(1, 4, 3, 5), lengths(1, 2)[None]
    for operands, words in (
        ((logits.double(), targets, lengths(4), lengths(2)), "logits must be float32"),
        ((logits, targets.long(), lengths(4), lengths(2)), "targets must be int32"),
        ((logits, targets, lengths(3), lengths(2)), "input length mismatch"),
        ((logits, targets, lengths(4), lengths(1)), "output length mismatch"),
    ):
        with pytest.raises(RuntimeError, match=words):
            OPS.rnnt_loss_forward(*operands, 0, -1.0, True)
    with pytest.raises(RuntimeError, match="blank must be within"):
        OPS.rnnt_loss_forward(logits, targets, lengths(4), lengths(2), 5, -1.0, True)


def test_other_libraries_are_refused() -> None:
    with pytest.raises(OSError, match="compiled for PyTorch"):
        torch.ops.load_library("somewhere/libtorchaudio_sox.so")
    assert torch.ops._torchaudio.is_align_available() and torch.ops._torchaudio.cuda_version() is None


def test_compiled_module_of_older_versions_is_found(tmp_path: Path) -> None:
    library = tmp_path / "torchaudio" / "lib"
    library.mkdir(parents=True)
    for folder in (library, library.parent):
        (folder / "__init__.py").touch()
    (library / "_torchaudio.so").write_bytes(b"compiled for PyTorch")
    program = tmp_path / "program.py"
    program.write_text(
        "import importlib.util\n"
        "assert importlib.util.find_spec('torchaudio.lib._torchaudio') is not None\n"
        "import torchaudio.lib._torchaudio as compiled\n"
        "print(compiled.is_align_available(), compiled.is_rir_available(), compiled.cuda_version())\n"
    )
    said = subprocess.run(
        [sys.executable, "-m", "rushlight", str(program)], capture_output=True, text=True, check=False
    )
    assert said.stdout.split() == ["True", "False", "None"], said.stderr


def _loop(**options: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    weights = torch.tensor([[0.5, 1.0]], **options)
    return torch.ones(1, 1, 4, **options), weights, torch.zeros(1, 1, 5, **options)


def test_core_loop_is_a_write_that_autograd_sees() -> None:
    x, a, y = _loop()
    loss = (torch.ones_like(y).requires_grad_() * y).sum()
    OPS._lfilter_core_loop(x, a, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_loops_are_ops_to_graphs_and_fake_tensors() -> None:
    graph = make_fx(lambda x, a, y: OPS._lfilter_core_loop(x, a, y) + 1)(*_loop())
    assert [str(n.target) for n in graph.graph.nodes if n.op == "call_function"] == [
        "torchaudio._lfilter_core_loop.default",
        "aten.add.Tensor",
    ]
    x, a, y = _loop()
    assert torch.equal(graph(x, a, y), y + 1) and bool(y[0, 0, 1:].all())
    with FakeTensorMode():
        x, a, y = _loop()
        assert OPS._lfilter_core_loop(x, a, y) is y and OPS._lfilter(x, a, a).shape == x.shape
    x, a, y = _loop(device="meta")
    assert OPS._lfilter_core_loop(x, a, y).is_meta and y._version == 1
