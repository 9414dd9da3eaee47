"""Which instructions kernels are compiled for: the setting `cpu`, and code for a processor that is not here."""

import os
import subprocess
import sys

import pytest

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target

pytestmark = pytest.mark.skipif(not target.available(), reason="needs llvmlite")
HERE = "x86-64-v3" if {"avx2", "fma", "f16c"} <= target._words() else None


def run(program, directory, **variables):
    """(exit status, what a program printed, its errors)."""
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(directory), **variables}
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
        check=False,
    )
    return found.returncode, found.stdout, found.stderr


SUMS = """
import hashlib
import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
F = torch.nn.functional
torch.manual_seed(0)
x = torch.randn(300, 400)
found = [x.exp(), F.gelu(x), x.softmax(-1), x.sum(), x.sum(0), F.layer_norm(x, (400,)), x @ x.T, x[0] @ x.T,
         x.half() * 3, x.cumsum(0), F.conv2d(x[None, None], torch.ones(4, 1, 3, 3))]
assert all(torch.isfinite(f).all() for f in found)
print(target.host().cpu, target.lanes("float32"), torch.backends.cpu.get_cpu_capability())
print(round(float(found[0].double().sum()), 1))
"""


@pytest.mark.skipif(HERE is None, reason="needs a processor with AVX2")
def test_fewer_instructions(tmp_path):
    _, narrow, errors = run(SUMS, tmp_path, RUSHLIGHT_CPU="x86-64-v3")
    assert narrow.split()[:3] == ["x86-64-v3", "8", "AVX2"], errors
    entries = len(os.listdir(tmp_path))
    _, least, errors = run(SUMS, tmp_path, RUSHLIGHT_CPU="x86-64-v2")
    assert least.split()[:3] == ["x86-64-v2", "4", "DEFAULT"], errors
    assert len(os.listdir(tmp_path)) > entries  # nobody runs what was compiled for another set
    assert abs(float(narrow.split()[3]) - float(least.split()[3])) < 1


def test_unknown_names_are_refused_with_the_list(tmp_path):
    for program in ("rushlight.ones(2).exp()", "rushlight.ones(2).softmax(0)", "[x + x for _ in range(9)]"):
        text = f"import rushlight; x = rushlight.ones(2); {program}"
        status, _, errors = run(text, tmp_path, RUSHLIGHT_CPU="x86_64_v3")
        assert status and errors.splitlines()[-1].endswith(
            "RUSHLIGHT_CPU=x86_64_v3: there is no such set of instructions; take one of native, x86-64, "
            "x86-64-v2, x86-64-v3, x86-64-v4"
        ), errors
    with pytest.raises(ValueError, match="cpu: expected one of"):
        settings.cpu = "pentium"


def test_what_the_processor_has_not_is_refused(tmp_path):
    program = (
        "from rushlight._engine.kernels.emit import target\n"
        "target._processor = lambda: 'flags: sse2'\n"
        "import rushlight\nrushlight.ones(2).exp()"
    )
    status, _, errors = run(program, tmp_path, RUSHLIGHT_CPU="x86-64-v3")
    assert status and "cannot run these instructions" in errors and "avx2" in errors and "NumPy" not in errors


# Everything that is written while these run is written again for another processor.
ELSEWHERE = """
import struct
import rushlight as torch
import llvmlite.binding as llvm
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.runtime import loader, native
from importlib import import_module

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(
    cpu="generic", features="+neon", opt=2, jit=True, reloc="pic", codemodel="small")
kinds, count = set(), 0

def emit(*writers):
    global count
    module = Module(True, True)
    for write in writers:
        write(module)
    parsed = llvm.parse_assembly(module.text())
    parsed.verify()
    code = machine.emit_object(parsed)
    assert code[:4] == b"\\x7fELF" and struct.unpack_from("<H", code, 18)[0] == 183
    found = loader._Object(code)
    for section in found.sections:
        if section[1] == loader._RELA and section[7] in found.loaded():
            for at in range(section[4], section[4] + section[5], 24):
                kind = struct.unpack_from("<QQq", code, at)[1] & 0xFFFFFFFF
                assert kind in loader._RELOCATIONS["aarch64"], kind
    count += 1

for parts, _ in (native._USUAL, native._COLUMNS):
    emit(*[import_module(f"rushlight._engine.kernels.{part}").write for part in parts])
address = native.address

def recorded(kind, text, write, externals=None):
    found = address(kind, text, write, externals)  # what cannot be written at all raises here
    emit(lambda module: write(module, "kernel"))
    kinds.add(kind)
    return found

native.address = recorded
F = torch.nn.functional
torch.manual_seed(0)
x, i = torch.randn(200, 300, requires_grad=True), torch.randint(0, 200, (5000,))
for name in "exp log tanh sigmoid erf sin cos tan asin acos atan sinh cosh asinh acosh atanh exp2 expm1 log2 log1p".split():
    for d in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        getattr(torch, name)(x.detach().to(d))
F.cross_entropy(x.softmax(-1) + F.layer_norm(x, (300,)) + F.gelu(x), i[:200]).backward()
x = x.detach()
with torch.no_grad():
    x.sum(), x.amax(), x.sum(0), x.bfloat16().sum(0), x.bfloat16().norm(dim=0), torch.randn(200, 3000).norm(dim=0), x.prod(1), x.cumsum(0), x.cumsum(1), x.half() * 2, x.bfloat16() * 2
    x[i], x.index_add(0, i, x[i]), x @ x.T, x[0] @ x.T, x.T.contiguous(), x.bfloat16() @ x.bfloat16().T
    torch.randperm(5000), torch.randn(50000), x.pow(1.7), torch.atan2(x, x), x.topk(3), x.gather(1, i.view(25, 200)[:, :1] % 300)
    F.conv2d(x[None, None], torch.ones(8, 1, 3, 3)), F.max_pool2d(x[None, None], 2)
    F.scaled_dot_product_attention(*[torch.randn(2, 4, 64, 32)] * 3), torch.nn.LSTM(20, 30)(torch.randn(5, 3, 20))
model = torch.nn.Linear(30, 30)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.ones(3, 30)).sum().backward()
    optimizer.step()
print(count, *sorted(kinds))
"""


def test_code_for_64_bit_arm_is_valid(tmp_path):
    """Written with as many lanes as there, verified, and with relocations that the loader knows."""
    lanes = {"RUSHLIGHT_CPU": "x86-64-v2"} if HERE else {}
    status, found, errors = run(ELSEWHERE, tmp_path, RUSHLIGHT_KERNELS="llvm", **lanes)
    assert not status, errors
    count, *kinds = found.split()
    assert int(count) > 80
    assert {"pointwise", "rows", "columns", "multi", "scan", "tiles", "words"} <= set(kinds), kinds
