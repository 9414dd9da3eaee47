"""torch._inductor's packages: programs compiled ahead of time, loaded where nothing is compiled yet."""

import os
import subprocess
import sys
import zipfile

import pytest

import rushlight as torch
from rushlight import nn

LOADED = """
import os, sys, torch
load = torch._inductor.aoti_load_package
own = set(os.listdir(os.environ["RUSHLIGHT_CACHE_DIR"]))  # what compile() itself is made of
model = load(sys.argv[1])
before = set(os.listdir(os.environ["RUSHLIGHT_CACHE_DIR"])) - own
x, y = torch.load(sys.argv[2])
for _ in range(5):
    torch.testing.assert_close(model(x), y, rtol=0, atol=1e-6)  # eager kernels may be NumPy's
assert not model(x).requires_grad
print(len(before), len(set(os.listdir(os.environ["RUSHLIGHT_CACHE_DIR"])) - before - own))
"""


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8)).eval()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    net, x = network(), torch.randn(16, 64)
    program = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},))
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(folder / "net.pt2"))
    torch.save((x, net(x).detach()), folder / "values.pt")
    return path, net, folder


def loaded(path, folder, cache):
    cache.mkdir()
    ran = subprocess.run(
        [sys.executable, "-m", "rushlight", "-c", LOADED, path, str(folder / "values.pt")],
        capture_output=True,
        text=True,
        env={**os.environ, "RUSHLIGHT_CACHE_DIR": str(cache)},
    )
    assert not ran.returncode, ran.stderr
    return [int(n) for n in ran.stdout.split()]


def test_nothing_is_compiled_where_a_package_is_loaded(package, tmp_path):
    path, _, folder = package
    entries, compiled = loaded(path, folder, tmp_path / "cache")
    assert entries > 3 and compiled == 0


def test_damaged_machine_code_is_compiled_again(package, tmp_path):
    path, _, folder = package
    again = str(tmp_path / "damaged.pt2")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(again, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            code = "aotinductor" in name and not name.endswith("json")
            new.writestr(name, data[:-1] + bytes([data[-1] ^ 1]) if code else data)
    entries, compiled = loaded(again, folder, tmp_path / "cache")
    assert entries == 0 and compiled > 3


def test_sizes_may_change_and_the_program_is_there(package):
    path, net, _ = package
    model = torch._inductor.aoti_load_package(path)
    for n in (16, 16, 16, 3, 16):
        x = torch.randn(n, 64)
        torch.testing.assert_close(model(x), net(x).detach(), rtol=0, atol=1e-6)
    with pytest.raises(AssertionError):
        model(torch.randn(16, 32))
    assert model.get_metadata()["AOTI_DEVICE_KEY"] == "cpu"
    assert model.get_constant_fqns() == list(net.state_dict())
    assert torch.equal(torch.export.load(path).module()(x), net(x))


def test_a_module_and_its_arguments(tmp_path):
    net, x = network(), torch.randn(4, 64)
    path = torch._inductor.aot_compile(
        net, (x,), options={"aot_inductor.output_path": str(tmp_path / "a.pt2")}
    )
    assert path == str(tmp_path / "a.pt2")
    model = torch._export.aot_load(path, "cpu")
    assert torch.equal(model(x), net(x).detach())
    with pytest.raises(RuntimeError, match="Unsupported device cuda"):
        torch._export.aot_load(path, "cuda")


def test_what_is_refused(tmp_path):
    program = torch.export.export(network(), (torch.randn(4, 64),))
    with pytest.raises(ValueError, match="Only ExportedProgram is supported"):
        torch._inductor.aoti_compile_and_package(network())
    with pytest.raises(AssertionError, match="ending in .pt2"):
        torch._inductor.aoti_compile_and_package(program, package_path="net.so")
    torch.export.save(program, tmp_path / "plain.pt2")
    with pytest.raises(RuntimeError, match="not compiled: expected a package"):
        torch._inductor.aoti_load_package(str(tmp_path / "plain.pt2"))
    program._example_inputs = None
    with pytest.raises(RuntimeError, match="example_inputs is required"):
        torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "a.pt2"))


def test_settings_are_kept():
    config = torch._inductor.config
    config.triton.cudagraphs = True
    with config.patch({"max_autotune": True}), config.patch("conv_1x1_as_mm", True):
        assert config.max_autotune and config.conv_1x1_as_mm
    assert not config.max_autotune and config.conv_1x1_as_mm is False  # PyTorch's default
