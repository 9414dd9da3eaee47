"""python -m rushlight: a program runs as under Python itself, with torch being Rushlight."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import rushlight

ROOT = str(Path(rushlight.__file__).parents[1])
HERE_ONLY = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


def run(
    *args: str, cwd: Path, text: str | None = None, launched: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "rushlight"] if launched else [sys.executable]
    return subprocess.run(
        [*start, *args],
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        timeout=100,
        env={**HERE_ONLY, "PYTHONPATH": ROOT, **env},
    )


def write(path: Path, code: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code))
    return str(path)


REPORT = """
    import sys
    print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name,
          sys.modules["__main__"].__dict__ is globals(), type(__loader__).__name__, __cached__)
"""


@pytest.mark.parametrize(
    "how",
    [
        ["p.py"],
        ["p.py", "-x", "--y=1", "p.py"],
        ["sub/p.py", "a"],
        ["./sub/../p.py"],
        ["-m", "pkg", "-m"],
        ["-m", "pkg.mod", "a"],
        ["-m", "p"],
        ["pkg", "a"],
        ["pkg.zip"],
    ],
)
def test_a_program_sees_what_python_shows(tmp_path: Path, how: list[str]) -> None:
    import zipfile

    for name in ("p.py", "sub/p.py", "pkg/__init__.py", "pkg/__main__.py", "pkg/mod.py"):
        write(tmp_path / name, REPORT)
    with zipfile.ZipFile(tmp_path / "pkg.zip", "w") as file:
        file.writestr("__main__.py", textwrap.dedent(REPORT))
    ours, theirs = (run(*how, cwd=tmp_path, launched=way) for way in (True, False))
    assert (ours.stdout, ours.stderr, ours.returncode) == (theirs.stdout, theirs.stderr, 0)


ENDS = {
    "exit": "import sys; sys.exit(7)",
    "message": "import sys; sys.exit('a message')",
    "none": "raise SystemExit",
    "error": "def f():\n    1/0\nf()",
    "context": "try:\n    1/0\nexcept ZeroDivisionError:\n    raise KeyError(1)",
    "cause": "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError(1) from e",
    "interrupt": "import atexit, os, signal\natexit.register(print, 'bye')\n"
    "os.kill(os.getpid(), signal.SIGINT)\nfor _ in range(10**7): pass",
    "hook": "import sys\nsys.excepthook = lambda *e: print('hook', e[0], e[2].tb_lineno)\n1/0",
    "thread": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), print('done'))).start()\n1/0",
    "syntax": "def f(:\n    pass",
    "missing": "import nowhere_at_all",
    "group": "raise ExceptionGroup('g', [ValueError(1)])" if sys.version_info >= (3, 11) else "1/0",
}


@pytest.mark.parametrize("code", ENDS.values(), ids=list(ENDS))
def test_a_program_ends_as_under_python(tmp_path: Path, code: str) -> None:
    write(tmp_path / "p.py", code)
    ours, theirs = (run("p.py", cwd=tmp_path, launched=way) for way in (True, False))
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)
    assert ours.returncode in (theirs.returncode, 128 + signal.SIGINT)
    if code is not ENDS["interrupt"]:
        assert ours.returncode == theirs.returncode


@pytest.mark.parametrize(
    "how",
    [
        ["-c", "import sys; print(sys.argv, sys.path[0]); 1/0", "a", "-b"],
        ["-", "a"],
        ["nothing.py"],
        ["-c", "import sys; sys.exit(3)"],
    ],
)
def test_other_ways_in(tmp_path: Path, how: list[str]) -> None:
    text = "import sys; print(sys.argv, sys.path[0], __name__)\n1/0"
    ours, theirs = (run(*how, cwd=tmp_path, text=text, launched=way) for way in (True, False))
    assert (ours.stdout, ours.stderr, ours.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)


def test_module_errors(tmp_path: Path) -> None:
    ours, theirs = (run("-m", "nowhere.at_all", cwd=tmp_path, launched=way) for way in (True, False))
    assert (ours.stderr, ours.returncode) == (theirs.stderr, theirs.returncode)
    write(tmp_path / "bad.py", "def f():\n    1/0\nf()")
    found = run("-m", "bad", cwd=tmp_path)
    assert "runpy" not in found.stderr and "launcher" not in found.stderr
    assert found.stderr.count("File ") == 2


def test_the_command_itself(tmp_path: Path) -> None:
    found = run("--help", cwd=tmp_path)
    assert found.returncode == 0 and "usage: python -m rushlight PROGRAM" in found.stdout
    assert run("-V", cwd=tmp_path).stdout.startswith("Rushlight 2.13.0")
    for wrong in (["-q"], ["-m"], ["-c"]):
        found = run(*wrong, cwd=tmp_path)
        assert found.returncode == 2 and "usage:" in found.stderr
    assert run(cwd=tmp_path, text="print('from stdin')").stdout == "from stdin\n"


NAMES = """
    import importlib, importlib.metadata, importlib.util, sys
    import rushlight
    assert importlib.util.find_spec("torch") is not None
    assert importlib.metadata.version("torch") == rushlight.__version__ == "2.13.0+rushlight"
    assert importlib.metadata.distribution("torch").metadata["Name"] == "torch"
    import torch
    import torch.serialization as s
    from torch.serialization import save
    assert torch is rushlight is sys.modules["torch"] is importlib.import_module("torch")
    assert s is rushlight.serialization is sys.modules["torch.serialization"] is torch.serialization
    assert save is torch.save
    assert s.__name__ == "torch.serialization" and s.__spec__.name == "rushlight.serialization"
    assert torch.__version__.startswith("2.13.0")
    assert importlib.util.find_spec("torch.serialization") is not None
    assert importlib.util.find_spec("torch.nowhere") is None
    assert isinstance(torch.Tensor([1.0]), rushlight.Tensor)
    names = {d.metadata["Name"] for d in importlib.metadata.distributions()}
    assert {"torch", "numpy"} <= names
    for name in ("torch.nowhere", "torch.nowhere.deep", "torch.serialization.deep", "torch.tensor",
                 "torch.base.dtype"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            assert error.name in name and "torch." in error.name, error.name
        else:
            raise SystemExit("found " + name)
    print("all good", flush=True)
"""


def test_names(tmp_path: Path) -> None:
    write(tmp_path / "p.py", NAMES)
    found = run("p.py", cwd=tmp_path)
    assert found.stdout == "all good\n", found.stderr


def test_rushlight_wins_over_an_installed_torch(tmp_path: Path) -> None:
    other = tmp_path / "site"
    write(other / "torch" / "__init__.py", "raise SystemExit('the other torch')")
    write(other / "torch" / "nn" / "__init__.py", "raise SystemExit('the other torch')")
    write(other / "torch-1.0.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n")
    write(
        tmp_path / "p.py",
        NAMES
        + """
    import subprocess
    code = ("import importlib.metadata as m, torch, rushlight, torch.serialization as s; "
            "print(m.version('torch'), torch is rushlight, s is rushlight.serialization)")
    subprocess.run([sys.executable, "-c", code], check=True)
""",
    )
    found = run("p.py", cwd=tmp_path, PYTHONPATH=f"{other}{os.pathsep}{ROOT}")
    assert found.stdout == "all good\n2.13.0+rushlight True True\n", found.stderr


def test_a_missing_torch_module_is_explained(tmp_path: Path) -> None:
    write(tmp_path / "p.py", "import torch.nowhere.deep")
    found = run("p.py", cwd=tmp_path)
    assert found.returncode == 1
    assert "ModuleNotFoundError: No module named 'torch.nowhere'" in found.stderr
    if sys.version_info >= (3, 11):
        assert "This program runs on Rushlight, which has no module torch.nowhere" in found.stderr


SPAWN = """
    import multiprocessing, sys
    import numpy, torch

    def work(queue, t):
        import rushlight
        t[0] = 9
        queue.put((torch is rushlight, __name__, type(t).__name__, t.tolist(), sys.argv[1:]))

    if __name__ == "__main__":
        for method in ("spawn", "fork"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            child = context.Process(target=work, args=(queue, torch.from_numpy(numpy.arange(2))))
            child.start()
            print(method, *queue.get(timeout=60))
            child.join()
"""


@pytest.mark.parametrize("how", [["p.py"], ["-m", "p"]])
def test_multiprocessing_children(tmp_path: Path, how: list[str]) -> None:
    """Rushlight is found from the current folder only, as in a checkout, and not by the program."""
    write(tmp_path / "elsewhere" / "p.py", SPAWN)
    env: dict[str, Any] = {"PYTHONPATH": str(tmp_path / "elsewhere")}
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "rushlight",
            *(how if how[0] == "-m" else [str(tmp_path / "elsewhere" / "p.py")]),
            "a",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        env={**HERE_ONLY, **env},
    )
    assert found.stdout == (
        "spawn True __mp_main__ Tensor [9, 1] ['a']\nfork True __main__ Tensor [9, 1] ['a']\n"
    ), found.stderr


def test_children_of_a_checkout_find_it(tmp_path: Path) -> None:
    write(tmp_path / "child.py", "import torch; print(torch.__version__)")
    code = "import subprocess, sys; subprocess.run([sys.executable, sys.argv[1]], check=True)"
    found = subprocess.run(
        [sys.executable, "-m", "rushlight", "-c", code, str(tmp_path / "child.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env=HERE_ONLY,
    )
    assert found.stdout.startswith("2.13.0"), found.stderr


def test_modules_of_torch_run_as_programs(tmp_path: Path) -> None:
    found = run("-m", "torch.serialization", cwd=tmp_path)
    assert (found.stderr, found.returncode) == ("", 0)


def test_install_as_torch_refuses_to_come_late(tmp_path: Path) -> None:
    write(tmp_path / "torch.py", "")
    found = run("-c", "import torch, rushlight; rushlight.install_as_torch()", cwd=tmp_path, launched=False)
    assert "RuntimeError: install_as_torch: expected to run before the first" in found.stderr
    found = run(
        "-c",
        "import rushlight as r; r.install_as_torch(); r.install_as_torch()\nimport torch; print(torch is r)",
        cwd=tmp_path,
        launched=False,
    )
    assert found.stdout == "True\n", found.stderr


def test_put_into_the_table_of_modules_as_torch(tmp_path: Path) -> None:
    """Submodules of a torch that a program put there by hand are ours, not second copies."""
    code = """
        import sys, rushlight
        sys.modules["torch"] = rushlight
        import torch.nn.functional as F
        import torch.optim.lr_scheduler
        from torch.utils.data import DataLoader
        print(F is rushlight.nn.functional, DataLoader is rushlight.utils.data.DataLoader)
        try:
            import torch.nothing
        except ModuleNotFoundError as error:
            print(error)
    """
    done = run(write(tmp_path / "p.py", code), cwd=tmp_path, launched=False)
    assert done.stdout.splitlines() == ["True True", "No module named 'torch.nothing'"], done.stderr


def test_modules_that_need_no_import(tmp_path: Path) -> None:
    """What `import torch` binds in PyTorch is reached by attributes alone."""
    code = """
        import torch
        names = "_logging.set_logs _decomp.get_decompositions torch_version.TorchVersion optim._stateless "
        names += "fx.experimental.proxy_tensor.make_fx testing._internal.common_dtype ao.nn.qat.dynamic"
        for name in names.split():
            found = torch
            for part in name.split("."):
                found = getattr(found, part)
        print(found.__name__)
    """
    done = run(write(tmp_path / "p.py", code), cwd=tmp_path)
    assert done.stdout.endswith("nn.qat.dynamic\n"), done.stderr


def test_types_print_as_torchs(tmp_path: Path) -> None:
    code = "t = torch.ones(2); print(type(t), type(t.shape), type(t.dtype), type(t.device))"
    found = run("-c", f"import torch; {code}", cwd=tmp_path)
    assert (
        found.stdout
        == "<class 'torch.Tensor'> <class 'torch.Size'> <class 'torch.dtype'> <class 'torch.device'>\n"
    )
    found = run("-c", f"import rushlight as torch; {code}", cwd=tmp_path, launched=False)
    assert found.stdout.startswith("<class 'rushlight.Tensor'> <class 'rushlight.Size'>")


def test_a_program_starts_before_the_engine_is_loaded(tmp_path: Path) -> None:
    """A program that only shows its usage need not wait for NumPy."""
    write(tmp_path / "p.py", "import sys, torch; print('numpy' in sys.modules)")
    assert run(tmp_path / "p.py", cwd=tmp_path).stdout == "False\n"


def test_submodules_of_pythons_library_that_pytorch_loads_are_there_by_their_packages(tmp_path: Path) -> None:
    lines = """
        import urllib, importlib
        import torch
        import multiprocessing as mp, http, concurrent
        print(mp.connection.Connection.__name__, http.client.OK, urllib.request.urlopen.__name__)
        print(importlib.metadata.version.__name__, concurrent.futures.Future.__name__)
        try:
            mp.nothing
        except AttributeError as error:
            print(error)
    """
    found = run(write(tmp_path / "p.py", lines), cwd=tmp_path)
    expected = [
        "Connection 200 urlopen",
        "version Future",
        "module 'multiprocessing' has no attribute 'nothing'",
    ]
    assert found.stdout.splitlines() == expected
