"""Fresh environments in which `torch` is Rushlight: what others install beside it, and how it comes and
goes.

    python tools/environments [--with pip] [--with uv=PATH] [--only NAME ...] [--keep FOLDER] [--python PATH]

Builds the wheel, and for each installer and each line of SCENES makes an environment, puts Rushlight and its
stand-in there, installs the packages as their users would, asks for a check, and runs the program beside
this file. Needs the network's registry, `build`, and some minutes; prints a line each, and exits with 1 if
any failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Scene:
    """What is installed, and the commands that are run; PYTHON, BIN and HERE stand for the folders."""

    name: str
    packages: tuple[str, ...]
    commands: tuple[str, ...]
    vision: bool = False


SCENES = (
    Scene(
        "accelerate",
        ("accelerate",),
        ("PYTHON HERE/accelerate_train.py", "BIN/accelerate launch --cpu HERE/accelerate_train.py"),
    ),
    Scene("transformers", ("transformers[torch]",), ("PYTHON HERE/transformers_train.py",)),
    Scene("lightning", ("lightning",), ("PYTHON HERE/lightning_train.py",)),
    Scene("timm", ("timm",), ("PYTHON HERE/timm_train.py",), vision=True),
    Scene("torchmetrics", ("torchmetrics",), ("PYTHON HERE/torchmetrics_measure.py",)),
    Scene("notebook", ("nbclient", "ipykernel"), ("PYTHON HERE/notebook.py",)),
    Scene(
        "xdist",
        ("pytest", "pytest-xdist"),
        ("PYTHON -m pytest -q -n 2 -p no:cacheprovider HERE/test_under_xdist.py",),
    ),
    Scene("debugger", ("debugpy",), ("PYTHON HERE/debugger.py",)),
    Scene("spawn", (), ("PYTHON HERE/spawn.py", "PYTHON -m torch.utils.collect_env", "BIN/torchrun --help")),
)


class Failed(Exception):
    """A command that ended otherwise than it should, and what it said."""


class Environment:
    """A virtual environment and its installer."""

    def __init__(self, folder: Path, python: str, installer: str) -> None:
        self.bin = folder / "bin"
        self.python = str(self.bin / "python")
        self.name, _, path = installer.partition("=")
        if self.name == "uv":
            self._uv = path or "uv"
            self.call([self._uv, "venv", "-q", "--python", python, str(folder)])
        else:
            self.call([python, "-m", "venv", str(folder)])

    def call(self, command: list[str], status: int = 0, cwd: Path | None = None, limit: int = 900) -> str:
        """What a command prints; Failed if it ends with another status."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "RUSHLIGHT", "VIRTUAL_ENV"))
        }
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=cwd or HERE.parent,
            timeout=limit,
            env={**clean, "PATH": f"{self.bin}{os.pathsep}{clean['PATH']}", "HF_HUB_OFFLINE": "1"},
        )
        if done.returncode != status:
            raise Failed(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def pip(self, command: str, *arguments: str, status: int = 0) -> str:
        """`pip command ...`, or uv's."""
        if self.name == "uv":
            return self.call([self._uv, "pip", command, "--python", self.python, *arguments], status=status)
        sure = ["-y"] if command == "uninstall" else []
        start = [self.python, "-m", "pip", command, "--disable-pip-version-check"]
        return self.call([*start, *sure, *arguments], status=status)

    def rushlight(self, *arguments: str, status: int = 0) -> str:
        """`python -m rushlight ...`."""
        return self.call([self.python, "-m", "rushlight", *arguments], status=status)


def play(scene: Scene, wheel: Path, env: Environment) -> str:
    """One line of SCENES; the last line that its programs print."""
    env.pip("install", str(wheel), *(("pillow",) if scene.vision else ()))
    env.rushlight("--install-as-torch", *(("torchvision",) if scene.vision else ()))
    if scene.packages:
        env.pip("install", *scene.packages)
    env.pip("check")
    listed = env.pip("list")
    if "+rushlight" not in listed or "nvidia" in listed or "triton" in listed:
        raise Failed(f"PyTorch came:\n{listed}")
    said = ""
    for command in scene.commands:
        words = [
            word.replace("PYTHON", env.python).replace("HERE", str(HERE)).replace("BIN", str(env.bin))
            for word in command.split()
        ]
        said = env.call(words, cwd=env.bin)
    return said.strip().splitlines()[-1] if said.strip() else ""


def life(wheel: Path, pytorch: str, env: Environment) -> str:
    """Coming, staying, going: by our command, by the installer, and PyTorch in its place."""
    env.pip("install", str(wheel))
    env.rushlight("--as-torch-status", status=1)
    first = env.rushlight("--install-as-torch")
    again = env.rushlight("--install-as-torch")
    if "already there" in first or "already there" not in again:
        raise Failed(first + again)
    for words in (env.pip("show", "torch"), env.pip("list"), env.pip("freeze")):
        if "+rushlight" not in words:
            raise Failed(words)
    env.pip("check")
    env.pip("uninstall", "torch")
    site = next(env.bin.parent.glob("lib/*/site-packages"))
    left = [*site.glob("torch*"), *site.glob(".rushlight*"), *env.bin.glob("torchrun")]
    if left:
        raise Failed(f"pip left {left}")
    env.rushlight("--install-as-torch")
    env.rushlight("--uninstall-as-torch")
    left = [*site.glob("torch*"), *env.bin.glob("torchrun")]
    if left:
        raise Failed(f"--uninstall-as-torch left {left}")
    env.rushlight("--install-as-torch")
    env.pip("install", "--no-deps", f"torch=={pytorch}")
    if "not Rushlight's" not in (told := env.rushlight("--as-torch-status", status=1)):
        raise Failed(told)
    kept = env.rushlight("--install-as-torch", status=2)
    env.rushlight("--uninstall-as-torch", status=2)
    if "left alone" not in kept or any(path.name.endswith("+rushlight.dist-info") for path in site.iterdir()):
        raise Failed(kept)
    env.pip("uninstall", "torch")
    env.rushlight("--install-as-torch")
    return env.call([env.python, "-c", "import torch; print(torch.__version__)"]).strip()


def attempt(name: str, action: Callable[[], str]) -> bool:
    """Run it and print a line; whether it went well."""
    start = time.perf_counter()
    try:
        said, well = action(), True
    except (Failed, subprocess.TimeoutExpired) as error:
        said, well = str(error)[-4000:], False
    print(f"{'ok  ' if well else 'FAIL'} {name:24} {time.perf_counter() - start:5.0f} s  {said}", flush=True)
    return well


def build(work: Path) -> Path:
    """The wheel, made from a copy of the sources: setuptools writes beside what it reads."""
    source = work / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
    command = [sys.executable, "-m", "build", "-o", str(work / "dist"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return max((work / "dist").glob("*.whl"), key=os.path.getmtime)


def main() -> int:
    """Print a line for each environment; 1 if any failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--with", dest="installers", action="append", help="pip, or uv=PATH (default: pip)")
    parser.add_argument("--only", nargs="*", help="names of scenes, or life")
    parser.add_argument("--keep", type=Path, help="a folder for the environments (or one that is removed)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environments")
    # Another one than Rushlight stands for: to an installer, 2.13.0+rushlight satisfies torch==2.13.0.
    parser.add_argument("--pytorch", default="2.6.0", help="the PyTorch that replaces the stand-in")
    options = parser.parse_args()
    work = options.keep or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    try:
        wheel = build(work)
        actions: dict[str, Callable[[Environment], str]] = {
            scene.name: partial(play, scene, wheel) for scene in SCENES
        }
        actions["life"] = partial(life, wheel, options.pytorch)
        results = []
        for installer in options.installers or ["pip"]:
            for name in options.only or actions:
                folder = work / f"{name}-{installer.partition('=')[0]}"
                shutil.rmtree(folder, ignore_errors=True)
                results.append(
                    attempt(
                        folder.name,
                        lambda: actions[name](Environment(folder, options.python, installer)),
                    )
                )
                if not options.keep:
                    shutil.rmtree(folder, ignore_errors=True)
        return 0 if all(results) else 1
    finally:
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
