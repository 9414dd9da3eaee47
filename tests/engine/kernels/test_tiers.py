"""Tiers, the cache on disk, processes and threads, life without llvmlite."""

import subprocess
import sys

import numpy as np
import pytest

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.loops.pointwise import Pointwise, pointwise
from rushlight._engine.kernels.runtime import cache, parallel, tiers
from rushlight._engine.ops.expressions import m, symbol

X = symbol("x")
F32 = (("x", "float32"),)
ONES = np.ones(4, "float32")


def fresh(number):
    """A kernel that no other test has compiled, with one right result."""
    return Pointwise((m.abs(X) + number,), F32, ("float32",))


def curved(number):
    """A kernel that no other test has compiled, with which NumPy's bits differ."""
    return Pointwise((m.exp(X) + number,), F32, ("float32",))


def test_hot_kernels_are_compiled_behind_the_callers_back(llvm):
    kernel, seen = fresh(0.125), []
    kernel.on_ready(seen.append)
    with settings.using(kernels="auto", hot_calls=5):
        for _ in range(4):
            kernel(ONES)
        tiers.wait()
        assert not seen
        kernel(ONES)
        tiers.wait()
    assert isinstance(kernel.fn, np.ufunc) and seen == [kernel.fn]
    kernel.on_ready(seen.append)
    assert len(seen) == 2
    np.testing.assert_array_equal(kernel(ONES), ONES + np.float32(0.125))


def test_machine_code_computes_from_the_first_call_where_numpy_has_other_bits(llvm):
    kernel, large = curved(0.0625), curved(0.03125)
    with settings.using(kernels="auto", hot_calls=1000):
        kernel(ONES)
        large.large(np.ones(2000, "float32"))
    assert isinstance(kernel.fn, np.ufunc) and isinstance(large.fn, np.ufunc)


def test_what_is_on_the_disk_computes_from_the_second_call(llvm):
    other = fresh(0.0625)
    other.compile_now()
    kernel = fresh(0.0625)
    with settings.using(kernels="auto", hot_calls=1000):
        kernel(ONES)
        assert not kernel.ready
        kernel(ONES)
        assert kernel.ready


def test_a_kernel_that_cannot_be_compiled_stays_on_numpy(llvm, monkeypatch):
    kernel = curved(0.015625)
    monkeypatch.setattr(kernel, "build", lambda: 1 // 0)
    with settings.using(kernels="auto"), pytest.warns(RuntimeWarning, match="could not be compiled"):
        np.testing.assert_allclose(kernel(ONES), np.exp(ONES) + 0.015625, rtol=1e-6)
    assert not kernel.pending and not kernel.ready


TRAIN = """
import hashlib
import rushlight as torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.GELU(), torch.nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x, y = torch.randn(64, 20), torch.randint(0, 2, (64,))
for _ in range(400):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
"""


def test_a_program_gives_the_same_bits_with_any_cache_and_any_threads(llvm, tmp_path):
    empty, full = answer(run(tmp_path, TRAIN)), answer(run(tmp_path, TRAIN))
    other = answer(run(tmp_path, TRAIN, RUSHLIGHT_NUM_THREADS="1", RUSHLIGHT_KERNELS="llvm"))
    assert empty == full == other and len(empty) == 1


def test_large_arrays_are_compiled_at_once(llvm):
    kernel = fresh(0.25)
    with settings.using(kernels="auto", hot_size=1000):
        kernel(np.ones(2000, "float32"))
        tiers.wait()
    assert isinstance(kernel.fn, np.ufunc)


EIGHT = """
import threading
import rushlight as torch
torch.manual_seed(0)
layers = [torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Softmax(-1)]
model, x, found = torch.nn.Sequential(*layers), torch.randn(4, 16), set()
def serve():
    with torch.no_grad():
        found.update(model(x).sin().numpy().tobytes() for _ in range(60))
threads = [threading.Thread(target=serve) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(found))
"""


def test_eight_threads_get_one_answer(llvm, tmp_path):
    assert answer(run(tmp_path, EIGHT)) == answer(run(tmp_path, EIGHT)) == ["1"]


def test_numpy_alone():
    with settings.using(kernels="numpy", hot_calls=2):
        for kernel in (fresh(0.5), curved(0.5)):
            for _ in range(10):
                kernel(ONES)
            tiers.wait()
            assert not isinstance(kernel.fn, np.ufunc)


def test_llvm_from_the_first_call(llvm):
    kernel = fresh(0.75)
    with settings.using(kernels="llvm"):
        np.testing.assert_array_equal(kernel(ONES), ONES + np.float32(0.75))
    assert isinstance(kernel.fn, np.ufunc)


PROGRAM = """
import sys
import numpy as np
from rushlight._engine.ops.expressions import m, symbol
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.loops.pointwise import pointwise
made = []
assemble = target.assemble
target.assemble = lambda *a, **k: made.append(1) or assemble(*a, **k)
x = symbol("x")
kernel = pointwise((m.exp(x) * 3,), (("x", "float32"),), ("float32",))
compiled = kernel.compile_now()
print(compiled, len(made), float(kernel(np.ones(1, "float32"))[0]))
"""


def run(directory, program=PROGRAM, **variables):
    import os

    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(directory), **variables}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )


def answer(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.split()


def test_second_process_compiles_nothing(llvm, tmp_path):
    first, second = answer(run(tmp_path)), answer(run(tmp_path))
    assert first[:2] == ["True", "2"] and second[:2] == ["True", "0"]
    assert first[2] == second[2]


def test_damaged_entries_are_made_again(llvm, tmp_path):
    answer(run(tmp_path))
    for k, file in enumerate(sorted(tmp_path.iterdir())):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] if k % 2 else data[:-1] + bytes([data[-1] ^ 1]))
    assert answer(run(tmp_path))[:2] == ["True", "2"]
    assert answer(run(tmp_path))[:2] == ["True", "0"]
    for file in tmp_path.iterdir():
        file.write_bytes(b"")
    assert answer(run(tmp_path))[:2] == ["True", "2"]


def test_entries_under_another_name_are_made_again(llvm, tmp_path):
    first = answer(run(tmp_path))
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    contents = [file.read_bytes() for file in files]
    for file, data in zip(files, reversed(contents), strict=True):
        file.write_bytes(data)
    assert answer(run(tmp_path)) == first and [file.read_bytes() for file in files] == contents


def test_two_processes_at_once(llvm, tmp_path):
    both = [run(tmp_path) for _ in range(2)]
    assert [answer(p)[0] for p in both] == ["True", "True"]
    assert not [f for f in tmp_path.iterdir() if f.name.startswith(".new")]


def test_directory_that_cannot_be_written(llvm, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert answer(run(blocked / "cache"))[:2] == ["True", "2"]


def test_without_llvmlite(tmp_path):
    program = "import sys\nsys.modules['llvmlite'] = None\n" + PROGRAM.replace(
        "from rushlight._engine.kernels.emit import target",
        "from importlib import util\nfind = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'llvmlite' else find(name)\n"
        "from rushlight._engine.kernels.emit import target",
    )
    found = answer(run(tmp_path, program))
    assert found[:2] == ["False", "0"]
    np.testing.assert_allclose(float(found[2]), 3 * np.e, rtol=1e-6)


EVERYTHING = """
import sys
sys.modules["llvmlite"] = None
import rushlight as torch
from rushlight.nn import functional as F
torch.manual_seed(0)
x = torch.randn(300, 400, requires_grad=True)
F.cross_entropy(x, torch.zeros(300, dtype=torch.long)).backward()
table = torch.nn.Embedding(500, 200)
table(torch.randint(500, (64, 64))).sum().backward()
half = torch.randn(300, 300).bfloat16()
found = [x.grad.sum(), table.weight.grad.sum(), F.softmax(x, -1).sum(), x @ x.T, half @ half, x.cumsum(0),
         x.topk(5)[0], x.sort()[0], x.gather(1, x.argsort()), F.layer_norm(x, (400,)), x.var(0), x.t().contiguous(),
         F.max_pool2d(x[None], 2), F.conv2d(x[None, None], torch.randn(8, 1, 3, 3)), F.dropout(x), torch.randperm(9),
         torch.nn.LSTM(20, 30)(torch.randn(5, 3, 20))[0], F.grid_sample(x[None, None], torch.rand(1, 9, 9, 2)),
         F.scaled_dot_product_attention(*[torch.randn(2, 4, 64, 32)] * 3), x.index_add(0, torch.arange(300), x)]
made = torch.compile(lambda x: F.gelu(x) * 2, mode="reduce-overhead")
assert all(torch.equal(made(x.detach()), F.gelu(x.detach()) * 2) for _ in range(4))
print(all(bool(f.isfinite().all()) for f in found))
"""


def test_everything_works_without_llvmlite(tmp_path):
    process = run(tmp_path, EVERYTHING)
    assert answer(process) == ["True"]


def test_keys_depend_on_all_that_decides_the_code():
    one = cache.key("pointwise", "a")
    assert cache.key("rows", "a") != one and cache.key("pointwise", "b") != one
    assert cache.key("pointwise", "a") == one


def test_kernels_can_be_read(llvm):
    kernel = pointwise((m.exp(X),), F32, ("float32",))
    text = kernel.ir()
    assert "define i32 @kernel" in text and "fmuladd" in text


# --- threads --------------------------------------------------------------------------------------


def test_number_of_threads():
    before = parallel.get_num_threads()
    assert before >= 1 and parallel.processors() >= 1
    try:
        parallel.set_num_threads(3)
        assert parallel.get_num_threads() == 3
        with pytest.raises(RuntimeError, match="positive"):
            parallel.set_num_threads(0)
    finally:
        parallel.set_num_threads(before)


FORK = """
import os
import numpy as np
from rushlight._engine.kernels.runtime import parallel, tiers
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.core.settings import settings
from rushlight._engine.ops.expressions import m, symbol
x = symbol("x")
kernel = pointwise((m.exp(x) * 5,), (("x", "float32"),), ("float32",))
kernel.compile_now()
parallel.set_num_threads(2)
a = np.ones((64, 8192), "float32")
kernel.large(a)
waiting = pointwise((m.abs(x) * 7,), (("x", "float32"),), ("float32",))
waiting._state = tiers.QUEUED  # as if the parent's thread had not come to it
child = os.fork()
if child == 0:
    kernel.large(a)
    other = pointwise((m.abs(x) * 6,), (("x", "float32"),), ("float32",))
    settings.hot_size = 10
    other(a)
    waiting(a)
    tiers.wait()
    os._exit(0 if isinstance(other.fn, np.ufunc) and isinstance(waiting.fn, np.ufunc) else 7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_forked_processes_have_threads_of_their_own(llvm, tmp_path):
    assert answer(run(tmp_path, FORK)) == ["0"]


@pytest.mark.parametrize(
    ("mkl", "openmp", "wanted"),
    [
        ("", "", 8),
        ("", "3", 3),
        ("2", "3", 2),
        ("", "64", 8),
        ("many", "2,1", 2),
        ("", "0", 8),
        ("-1", "", 8),
    ],
)
def test_threads_are_as_many_as_the_environment_tells(monkeypatch, mkl, openmp, wanted):
    monkeypatch.setattr(parallel, "processors", lambda: 8)
    monkeypatch.setenv("MKL_NUM_THREADS", mkl)
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    monkeypatch.setattr(parallel._Count, "threads", 0)
    with parallel.settings.using(num_threads=0):
        assert parallel.get_num_threads() == wanted
