"""`torch` for a whole environment: `python -m rushlight --install-as-torch`, and back.

The stand-in is a distribution like others, written as an installer would: a package `torch` of one file,
which hands `import torch` over to Rushlight (`launcher.stand_in`), stubs for type checkers, and metadata
with a RECORD, by which pip, uv and importlib.metadata know it, count it as what needs torch needs, and
remove it.

A fresh one appears by renames, its metadata last; one that is renewed is replaced file by file, so that
`import torch` works at every moment; what a killed command left is mended by the next one.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rushlight import aliases
from rushlight.version import __version__ as torch_version, release

NAMES = ("torch", "torchvision")
INSTALLER = "rushlight"
MARK = "# Written by `python -m rushlight --install-as-torch`."
_PACKAGES = {"torch": "rushlight", "torchvision": "rushlight_vision"}
_STAGE = ".rushlight-as-torch-"


class Refusal(Exception):
    """Why the environment is left as it is; the text is for a person."""


# --- what is written --------------------------------------------------------------------------------


def version(name: str) -> str:
    """The version that a stand-in goes by: what the package's own __version__ says."""
    if name == "torch":
        return torch_version
    # torchvision may not be wanted
    from rushlight_vision import __version__ as vision_version

    return vision_version


def stamp() -> str:
    """What a stand-in was made by; another one has it renewed."""
    return f"{release} {torch_version}"


_INIT = '''\
"""`import torch` is Rushlight in this environment; `python -m rushlight --as-torch-status` tells more."""
{mark}
try:
    from rushlight.launcher import stand_in
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "torch stands for Rushlight in this environment, and Rushlight cannot be imported; install it again, "
        "or remove the stand-in with `pip uninstall {name}`", name="{name}") from error
stand_in("{name}", "{stamp}", __file__)
'''
_SCRIPT = """\
#!{python}
{mark}
import sys

from rushlight.distributed.run import main

if __name__ == "__main__":
    sys.exit(main())
"""


def metadata(name: str) -> str:
    """METADATA of a stand-in."""
    torch = name == "torch"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version(name)}",
        f"Summary: Rushlight, standing in for {'PyTorch' if torch else 'torchvision'}",
        "License: MIT",
        "Requires-Python: >=3.11",
        "Requires-Dist: rushlight",
    ]
    if torch:
        # PyTorch's, so that nobody is told that `torch[opt-einsum]` has no such extra.
        lines += [f"Provides-Extra: {extra}" for extra in ("opt-einsum", "optree", "pyyaml")]
    else:
        lines.append(f"Requires-Dist: torch=={torch_version}")
    return "\n".join(lines) + "\n"


@lru_cache
def _types(name: str) -> dict[str, str]:
    """Files by which type checkers find the stand-in's types, by path."""
    return aliases.stubs(Path(__file__).parents[1] / _PACKAGES[name], name)


def wanted(name: str, folder: Path) -> dict[str, bytes]:
    """All files of a stand-in for a site folder, by their paths from there; RECORD is the last."""
    info = f"{name}-{version(name)}.dist-info"
    texts = {f"{name}/__init__.py": _INIT.format(mark=MARK, name=name, stamp=stamp()), **_types(name)}
    if name == "torch" and (script := _script(folder)) is not None:
        texts[script] = _SCRIPT.format(mark=MARK, python=sys.executable)
        texts[f"{info}/entry_points.txt"] = "[console_scripts]\ntorchrun = torch.distributed.run:main\n"
    texts[f"{info}/METADATA"] = metadata(name)
    texts[f"{info}/INSTALLER"] = f"{INSTALLER}\n"
    texts[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: rushlight\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    texts[f"{info}/top_level.txt"] = f"{name}\n"
    files = {path: text.encode() for path, text in texts.items()}
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    return files


def _record(files: dict[str, bytes], own: str) -> str:
    """RECORD: each file with its digest and size; of itself only the name."""

    def line(path: str, data: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{path},sha256={digest},{len(data)}"

    return "\n".join([*[line(*item) for item in files.items()], f"{own},,"]) + "\n"


def _script(folder: Path) -> str | None:
    """The path of `torchrun` from the site folder; None where that is not this interpreter's own, or another
    program has the name.
    """
    if not os.path.samefile(folder, site_folder()):
        return None
    script = Path(sysconfig.get_path("scripts"), "torchrun")
    if script.exists() and MARK not in script.read_text(encoding="utf-8", errors="replace"):
        return None
    return Path(os.path.relpath(script, folder)).as_posix()


# --- what is there ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What an environment has by a name: "nothing", "whole", "stale" or "broken" (ours), or "other"."""

    kind: str
    version: str = ""
    place: Path | None = None
    infos: tuple[Path, ...] = ()


def site_folder() -> Path:
    """Where this interpreter's packages lie."""
    return Path(sysconfig.get_path("purelib"))


def _infos(folder: Path, name: str) -> list[Path]:
    """Metadata of distributions of that name in a folder."""
    form = re.compile(rf"{name}-[0-9][^-]*(-.*)?\.(dist|egg)-info|{name}\.egg-info|{name}\.egg-link", re.I)
    try:
        return sorted(path for path in folder.iterdir() if form.fullmatch(path.name))
    except OSError:
        return []


def _is_ours(info: Path) -> bool:
    try:
        return (info / "INSTALLER").read_text(encoding="utf-8").strip() == INSTALLER
    except OSError:
        return False


def _is_marked(package: Path) -> bool:
    try:
        return MARK in (package / "__init__.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def find(name: str, folder: Path) -> Found:
    """What stands in a site folder by that name, or, if it is not ours, in what Python searches before it."""
    for place in _searched_until(folder):
        package, single = place / name, place / f"{name}.py"
        infos = _infos(place, name)
        others = [info for info in infos if not _is_ours(info)]
        if others:
            text = re.sub(r"\.(dist|egg)-info$|\.egg-link$", "", others[0].name)
            return Found("other", text.partition("-")[2].partition("-")[0], place, tuple(infos))
        strange = package.exists() and not infos and not _is_marked(package)
        if place == folder and (strange or single.exists()):
            return Found("other", "", package if package.exists() else single)
    package, infos = folder / name, _infos(folder, name)
    if not infos and not package.exists():
        return Found("nothing")
    mine = infos[0].name.partition("-")[2].removesuffix(".dist-info") if infos else ""
    if not infos or not _is_marked(package):
        return Found("broken", mine, folder, tuple(infos))
    same = len(infos) == 1 and all(_same(folder / path, data) for path, data in wanted(name, folder).items())
    return Found("whole" if same else "stale", mine, folder, tuple(infos))


def _searched_until(folder: Path) -> list[Path]:
    """Folders of packages that Python searches, up to this one; the launcher's own is left out."""
    ours = Path(__file__).parent / "as_torch"
    places = [Path(part) for part in sys.path if part and Path(part) != ours and Path(part).is_dir()]
    return [*places[: places.index(folder)], folder] if folder in places else [folder]


def _same(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


# --- the commands -----------------------------------------------------------------------------------


def install(names: Sequence[str] = ("torch",)) -> list[str]:
    """Put stand-ins into this interpreter's environment, or renew them; what was done, a line for each.

    Raises Refusal where PyTorch is installed or the environment may not be written to; nothing is changed
    then.
    """
    folder = site_folder()
    _check_environment(folder)
    with _alone(folder):
        # A torchvision that is there is renewed with the torch that it goes with.
        asked = [
            name
            for name in NAMES
            if name in ("torch", *names) or find(name, folder).kind in ("stale", "broken")
        ]
        for name in asked:
            _check_free(name, find(name, folder))
        return [_install_one(name, folder) for name in asked]


def _install_one(name: str, folder: Path) -> str:
    before = find(name, folder)
    text = f"{name} {version(name)} in {folder}"
    if before.kind == "whole":
        return f"{text}: already there"
    files = wanted(name, folder)
    with _staged(folder, files) as stage:
        if before.kind == "nothing":
            _appear(stage, folder, files)
        else:
            _replace(stage, folder, files, before)
    words = (
        "`import torch` is Rushlight now in every program of this environment"
        if name == "torch"
        else ("`import torchvision` is rushlight_vision now")
    )
    return f"{text}: {words}" if before.kind == "nothing" else f"{text}: renewed"


def uninstall(names: Sequence[str] = NAMES) -> list[str]:
    """Remove stand-ins from this interpreter's environment; what was done, a line for each."""
    folder = site_folder()
    found = {name: find(name, folder) for name in names}
    if found.get("torch", Found("nothing")).kind == "other":
        _check_free("torch", found["torch"])
    mine = [name for name, what in found.items() if what.kind in ("whole", "stale", "broken")]
    if not mine:
        return [f"no stand-in of Rushlight in {folder}: nothing to remove"]
    if not os.access(folder, os.W_OK):
        raise Refusal(f"{folder} cannot be written to; the stand-in stays")
    with _alone(folder):
        for name in mine:
            _remove(name, folder, found[name])
    return [f"{name} {found[name].version} in {folder}: removed" for name in mine]


def status() -> tuple[list[str], bool]:
    """What stands by the names torch and torchvision, a line for each, and whether torch is Rushlight's."""
    folder, lines = site_folder(), []
    words = {
        "whole": "Rushlight's stand-in, up to date",
        "stale": "Rushlight's stand-in, of another version; --install-as-torch renews it",
        "broken": "what an interrupted command left; --install-as-torch mends it",
    }
    for name in NAMES:
        what = find(name, folder)
        if what.kind == "nothing":
            lines.append(f"{name}: not installed in {folder}")
        else:
            told = words.get(what.kind, "not Rushlight's")
            lines.append(f"{name} {what.version}".rstrip() + f" in {what.place}: {told}")
    return lines, find("torch", folder).kind in ("whole", "stale")


def renew(name: str, file: str) -> None:
    """Bring the stand-in that lies in `file` up to date; OSError where that may not be written to."""
    folder = Path(file).parent.parent
    with _alone(folder):
        if find(name, folder).kind == "stale":
            _install_one(name, folder)


# --- checks -----------------------------------------------------------------------------------------


def _check_environment(folder: Path) -> None:
    """Refuse where packages are not put by hand, or Rushlight itself would not be found."""
    marker = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    advice = "make a virtual environment (python -m venv .venv), install Rushlight there, and ask its Python"
    if sys.prefix == sys.base_prefix and marker.exists():
        raise Refusal(f"the packages of {sys.prefix} are managed by another tool ({marker}); {advice}")
    if not os.access(folder, os.W_OK):
        raise Refusal(f"{folder} cannot be written to; {advice}")
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('rushlight') is None)"
    if subprocess.run([sys.executable, "-P", "-E", "-c", code], cwd=folder, check=False).returncode:
        raise Refusal(
            f"Rushlight itself is not installed in this environment (it was found in "
            f"{Path(__file__).parent.parent}); install it there first: pip install "
            f"{Path(__file__).parent.parent}"
        )


def _check_free(name: str, found: Found) -> None:
    if found.kind != "other":
        return
    if not found.infos:
        raise Refusal(f"{found.place} is not Rushlight's and no installer knows it; move it away first")
    whole = "PyTorch" if name == "torch" else name
    raise Refusal(
        f"{whole} {found.version} is installed in {found.place}, and is left alone; to have Rushlight in its "
        f"place, first remove it: {sys.executable} -m pip uninstall {name} (or: uv pip uninstall {name})"
    )


# --- writing ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One command at a time in a folder; being told to end raises, so that what was begun is undone."""
    import signal

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    place = os.open(folder, os.O_RDONLY)
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(place, fcntl.LOCK_EX)
    previous = None
    with contextlib.suppress(ValueError):  # another thread than the main one sets no handlers
        previous = signal.signal(signal.SIGTERM, end)
    try:
        for left in folder.glob(f"{_STAGE}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)
        os.close(place)


@contextlib.contextmanager
def _staged(folder: Path, files: dict[str, bytes]) -> Iterator[Path]:
    """The files, written beside where they will lie; scripts have plain names there."""
    stage = folder / f"{_STAGE}{os.getpid()}"
    try:
        for path, data in files.items():
            target = stage / _plain(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            if _is_script(path):
                target.chmod(0o755)
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _is_script(path: str) -> bool:
    return path.startswith("../")


def _plain(path: str) -> str:
    return f"scripts/{Path(path).name}" if _is_script(path) else path


def _appear(stage: Path, folder: Path, files: dict[str, bytes]) -> None:
    """Move a stand-in to where nothing was: its scripts, its package, its metadata; or nothing at all."""
    roots = [path.partition("/")[0] for path in files if not _is_script(path)]
    moves = [(path, _plain(path)) for path in files if _is_script(path)]
    moves += [(root, root) for root in dict.fromkeys(roots)]
    try:
        for path, staged in moves:
            os.rename(stage / staged, folder / path)
    except BaseException:
        for path, _ in moves:
            with contextlib.suppress(OSError):
                _delete(folder / path)
        raise


def _replace(stage: Path, folder: Path, files: dict[str, bytes], before: Found) -> None:
    """Put new files in the place of old ones, one at a time, then take away what is no more."""
    old = {path for info in before.infos for path in _recorded(info)}
    for path in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(stage / _plain(path), folder / path)
    keep = next(path for path in files if path.endswith("/RECORD")).partition("/")[0]
    for path in old - set(files):
        _take(folder, path)
    for info in before.infos:
        if info.name != keep:
            shutil.rmtree(info, ignore_errors=True)


def _recorded(info: Path) -> list[str]:
    """The paths of a RECORD."""
    import csv

    try:
        with open(info / "RECORD", encoding="utf-8", newline="") as file:
            return [row[0] for row in csv.reader(file) if row]
    except OSError:
        return []


def _take(folder: Path, path: str) -> None:
    """Remove a file that is ours, and folders that are empty then."""
    place = folder / path
    place.unlink(missing_ok=True)
    for parent in Path(path).parents:
        if parent.parts and parent.parts[0] in NAMES:
            with contextlib.suppress(OSError):
                (folder / parent).rmdir()


def _delete(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)


def _remove(name: str, folder: Path, found: Found) -> None:
    """Take a stand-in away: its scripts, its package by one rename, then its metadata."""
    stage = folder / f"{_STAGE}{os.getpid()}"
    stage.mkdir()
    try:
        for path in {path for info in found.infos for path in _recorded(info) if _is_script(path)}:
            _take(folder, path)
        for place in (folder / name, *found.infos):
            if place.exists():
                os.rename(place, stage / place.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """--install-as-torch [torchvision], --uninstall-as-torch [torchvision], --as-torch-status."""
    command, *names = arguments
    if command == "--as-torch-status" and names:
        print(f"{command} takes no arguments, and got {names[0]!r}", file=sys.stderr)
        return 2
    if wrong := [name for name in names if name not in NAMES]:
        print(
            f"{command}: {wrong[0]} is nothing that Rushlight stands for (only torchvision may follow)",
            file=sys.stderr,
        )
        return 2
    try:
        if command == "--as-torch-status":
            lines, ours = status()
            print("\n".join(lines))
            return 0 if ours else 1
        done = install(names) if command == "--install-as-torch" else uninstall(names or NAMES)
    except (Refusal, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    print("\n".join(done))
    return 0
