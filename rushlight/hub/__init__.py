"""torch.hub: models by the file hubconf.py of a folder or of a GitHub repository, and weights by URL.

hubconf.py is a program: its functions without a leading underscore are the models that can be asked for, its
variable `dependencies` names what must be installed. Nothing is fetched unless a repository or a URL is asked
for.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.hub.github import fetched

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
_CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # in a file's name, the beginning of its SHA-256
_chosen: list[str] = builtins.list()


# --- where things are kept ----------------------------------------------------------------------


def _get_torch_home() -> str:
    """$TORCH_HOME, else $XDG_CACHE_HOME/torch or ~/.cache/torch."""
    home = os.getenv("TORCH_HOME") or os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder that repositories and weights are kept in: set_dir's, else `hub` in $TORCH_HOME, which is
    $XDG_CACHE_HOME/torch or ~/.cache/torch.
    """
    if os.getenv("TORCH_HUB"):
        warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead")
    return _chosen[-1] if _chosen else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose that folder."""
    _chosen[:] = [os.path.expanduser(d)]


# --- hubconf.py -----------------------------------------------------------------------------------


@contextmanager
def _opened(folder: str) -> Iterator[Any]:
    """The module hubconf.py of a folder, which may import what lies beside it."""
    file = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf.py", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"hub: {file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)


def _entry(module: Any, model: Any) -> Callable[..., Any]:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    absent = [
        name for name in getattr(module, "dependencies", None) or () if importlib.util.find_spec(name) is None
    ]
    if absent:
        raise RuntimeError(f"Missing dependencies: {', '.join(absent)}")
    found: Callable[..., Any] | None = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """The names of a GitHub repository's models; as for `load`."""
    with _opened(fetched(get_dir(), github, force_reload, trust_repo, verbose, skip_validation)) as module:
        return [name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
) -> str | None:
    """What a GitHub repository says of one of its models; as for `load`."""
    with _opened(fetched(get_dir(), github, force_reload, trust_repo, True, skip_validation)) as module:
        return _entry(module, model).__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """model(*args, **kwargs) of the hubconf.py of a folder (source="local") or a GitHub repository.

    A repository is "owner/name" or "owner/name:branch". It is a program that will run: trust_repo=False asks
    each time, "check" once for a repository that was not loaded before, True never. force_reload: fetch it
    again. skip_validation: do not ask GitHub whether the branch is the repository's own. Errors: ValueError
    for another source; RuntimeError where the model or what it depends on is absent.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = (
        repo_or_dir
        if source == "local"
        else fetched(get_dir(), repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    )
    with _opened(folder) as module:
        return _entry(module, model)(*args, **kwargs)


# --- files by URL ---------------------------------------------------------------------------------


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch a file; it appears under its name when it is whole.

    hash_prefix: what its SHA-256 in hexadecimal begins with, else RuntimeError. progress: tell how far it is.
    """
    dst = os.path.expanduser(dst)
    digest, done = hashlib.sha256(), 0
    handle, partial = tempfile.mkstemp(".partial", f"{os.path.basename(dst)}.", os.path.dirname(dst) or ".")
    try:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source, open(handle, "wb") as file:
            size = source.headers.get("Content-Length")
            while chunk := source.read(_CHUNK):
                done += file.write(chunk)
                digest.update(chunk)
                if progress:
                    share = f"{done / int(size):.1%} of {int(size):,}" if size else f"{done:,}"
                    print(f"\r{share} bytes", end="", file=sys.stderr, flush=True)
        if progress:
            print(file=sys.stderr)
        if not digest.hexdigest().startswith(hash_prefix or ""):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.chmod(partial, 0o644)
        shutil.move(partial, dst)
    finally:
        Path(partial).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """torch.load of a file by its URL, which is kept in model_dir (`checkpoints` in get_dir()).

    check_hash: the file's name ends with -SHA256.EXT, the first digits of its checksum, and they must be
    right. file_name: another name to keep it by. A zip file with one file in it stands for that file.
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    kept = os.path.join(folder, name)
    if not os.path.exists(kept):
        sys.stdout.write(f'Downloading: "{url}" to {kept}\n')
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, kept, digits and digits.group(1), progress)
    if zipfile.is_zipfile(kept):
        with zipfile.ZipFile(kept) as archive:
            [only, *others] = archive.infolist()
            if not others and not only.is_dir():
                kept = archive.extract(only, folder)
    return torch.load(kept, map_location=map_location, weights_only=weights_only)


load_url = load_state_dict_from_url  # as torch.utils.model_zoo calls it
