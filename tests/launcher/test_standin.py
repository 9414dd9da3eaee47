"""`torch` for a whole environment: what is written, by whom it is known, how it comes and goes."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import os
import signal
import subprocess
import sys
import textwrap
import time
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

import rushlight
from rushlight import standin

ROOT = Path(rushlight.__file__).parents[1]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site folder of an environment of its own, in which Rushlight is found."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    paths = {"purelib": str(folder), "scripts": str(tmp_path / "bin"), "stdlib": str(tmp_path / "lib")}
    monkeypatch.setattr(standin.sysconfig, "get_path", paths.__getitem__)
    monkeypatch.setattr(sys, "path", [*(p for p in sys.path if not Path(p, "torch").exists()), str(folder)])
    return folder


def run(site, code, *flags, **env):
    """A program in that environment: a Python that finds its packages and, after them, Rushlight."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    path = os.pathsep.join(
        [str(site), str(ROOT), *(p for p in sys.path if "site-packages" in p and p != str(site))]
    )
    return subprocess.run(
        [sys.executable, *flags, "-c", "import sys\n" + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**clean, "PYTHONPATH": path, **env},
        cwd=site.parent,
    )


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_is_written_as_an_installer_writes(site):
    assert "Rushlight now" in standin.install(("torch", "torchvision"))[0]
    for name in ("torch", "torchvision"):
        info = site / f"{name}-{standin.version(name)}.dist-info"
        assert (info / "INSTALLER").read_text().strip() == "rushlight"
        rows = list(csv.reader((info / "RECORD").read_text().splitlines()))
        mine = {p for p in contents(site) if p.startswith((f"{name}/", f"{name}-"))}
        assert {row[0] for row in rows} - {"../../bin/torchrun"} == mine
        for path, digest, size in rows[:-1]:
            data = (site / path).read_bytes()
            assert int(size) == len(data)
            assert digest == "sha256=" + urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert rows[-1] == [f"{info.name}/RECORD", "", ""]
    found = next(iter(importlib.metadata.distributions(name="torch", path=[str(site)])))
    assert (found.version, found.requires) == (rushlight.__version__, ["rushlight"])
    assert os.access(site.parents[1] / "bin" / "torchrun", os.X_OK)


def test_torch_is_rushlight_there(site):
    standin.install(("torch", "torchvision"))
    found = run(
        site,
        """
        import importlib.metadata, importlib.util, pickle, subprocess
        assert importlib.metadata.version("torch").endswith("+rushlight")
        assert importlib.util.find_spec("torch.nn") and importlib.util.find_spec("torch.nowhere") is None
        import torch, rushlight, torch.nn.functional as F, torchvision, rushlight_vision
        from torch.utils.data import DataLoader
        from torch.nn import Linear
        assert torch is rushlight is sys.modules["torch"] and torchvision is rushlight_vision
        assert sys.modules["torch.nn.functional"] is rushlight.nn.functional is F
        assert torch.nn.Linear is rushlight.nn.Linear and DataLoader is rushlight.utils.data.DataLoader
        layer = pickle.loads(pickle.dumps(Linear(2, 3)))
        assert isinstance(layer, rushlight.nn.Module)
        inner = "import torch, rushlight; assert torch is rushlight; print(torch.ones(2))"
        print(subprocess.run([sys.executable, "-c", inner], check=True, capture_output=True, text=True).stdout)
        print([d.metadata["Name"] for d in importlib.metadata.distributions(name="torch")])
    """,
    )
    assert found.stdout == "tensor([1., 1.])\n\n['torch']\n", found.stderr


def test_a_second_call_changes_nothing(site):
    standin.install()
    before = {path: (site / path).stat().st_mtime_ns for path in contents(site)}
    assert "already there" in standin.install()[0]
    assert before == {path: (site / path).stat().st_mtime_ns for path in contents(site)}


def test_it_goes_without_a_trace(site):
    standin.install(("torch", "torchvision"))
    run(site, "import torch, torchvision")
    assert len(standin.uninstall()) == 2
    assert list(site.iterdir()) == [] and list((site.parents[1] / "bin").iterdir()) == []
    assert "nothing to remove" in standin.uninstall()[0]


def test_an_installed_pytorch_is_left_alone(site, capsys):
    info = site / "torch-2.6.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text("pip")
    (site / "torch").mkdir()
    before = list(site.rglob("*"))
    for command in ("--install-as-torch", "--uninstall-as-torch"):
        assert standin.main([command]) == 2
        told = capsys.readouterr().err
        assert (
            "PyTorch 2.6.0 is installed" in told and "pip uninstall torch" in told and told.count("\n") == 1
        )
    assert standin.main(["--as-torch-status"]) == 1
    assert "torch 2.6.0" in capsys.readouterr().out
    assert list(site.rglob("*")) == before


def test_a_folder_that_nobody_knows_is_left_alone(site, capsys):
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("")
    assert standin.main(["--install-as-torch"]) == 2
    assert "not Rushlight's" in capsys.readouterr().err


def test_a_newer_rushlight_renews_it(site, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(standin, "torch_version", "2.12.0+rushlight")
        older.setattr(standin, "release", "0.0.9")
        standin.install()
        (site / "torch" / "old.pyi").write_text("")
        record = site / "torch-2.12.0+rushlight.dist-info" / "RECORD"
        record.write_text("torch/old.pyi,,\n" + record.read_text())
    assert standin.find("torch", site).kind == "stale"
    assert run(site, "import torch; print(torch.__version__)").stdout == f"{rushlight.__version__}\n"
    assert (site / f"torch-{rushlight.__version__}.dist-info" / "RECORD").exists()
    assert standin.stamp() in (site / "torch" / "__init__.py").read_text()
    assert (
        not (site / "torch-2.12.0+rushlight.dist-info").exists() and not (site / "torch" / "old.pyi").exists()
    )


def test_what_an_interrupted_command_left_is_mended(site, monkeypatch):
    real = os.rename

    def stop(source, target):
        if str(target).endswith(".dist-info"):
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(standin.os, "rename", stop)
        with pytest.raises(KeyboardInterrupt):
            standin.install()
    assert list(site.iterdir()) == []
    # Killed at once: the folder is there, the metadata is not, nor is the stage cleared away.
    standin.install()
    (site / f"torch-{rushlight.__version__}.dist-info").rename(site / ".rushlight-as-torch-1")
    assert standin.find("torch", site).kind == "broken"
    standin.install()
    assert standin.find("torch", site).kind == "whole" and not list(site.glob(".rush*"))


def test_being_told_to_end_undoes_it(site):
    code = """
        import os, signal, time
        from rushlight import standin
        paths = {"purelib": %r, "scripts": %r, "stdlib": %r}
        standin.sysconfig.get_path = paths.__getitem__
        real = os.rename
        def slow(source, target):
            real(source, target)
            if target.name == "torch":
                print("moved", flush=True)
                time.sleep(60)
        standin.os.rename = slow
        standin.install()
    """ % (str(site), str(site.parents[1] / "bin"), str(site.parent))
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        env={**clean, "PYTHONPATH": str(ROOT)},
    ) as child:
        if child.stdout.readline() != "moved\n":
            pytest.skip("Rushlight is not installed for a bare interpreter here")
        time.sleep(0.1)
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 128 + signal.SIGTERM
    assert list(site.iterdir()) == []


def test_environments_that_are_not_ours_to_change(site, monkeypatch, capsys):
    (site.parent / "EXTERNALLY-MANAGED").write_text("")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert standin.main(["--install-as-torch"]) == 2
    assert "managed by another tool" in capsys.readouterr().err
    (site.parent / "EXTERNALLY-MANAGED").unlink()
    monkeypatch.setattr(standin.os, "access", lambda *given: False)
    assert standin.main(["--install-as-torch"]) == 2
    told = capsys.readouterr().err
    assert "cannot be written to" in told and told.count("\n") == 1
    assert standin.main(["--install-as-torch", "torchaudio"]) == 2
    assert list(site.iterdir()) == []


def test_without_rushlight_it_says_so(site):
    standin.install()
    found = run(site, "sys.modules['rushlight'] = None\nimport torch")
    assert "Rushlight cannot be imported" in found.stderr and "pip uninstall torch" in found.stderr


def test_the_launchers_metadata_are_the_same():
    for name in ("torch", "torchvision"):
        folder = ROOT / "rushlight" / "as_torch" / f"{name}-{standin.version(name)}.dist-info"
        assert (folder / "METADATA").read_text() == standin.metadata(name)
