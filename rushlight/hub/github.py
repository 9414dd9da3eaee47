"""Repositories of torch.hub: fetched from GitHub once, if the user trusts them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

# Whose repositories nobody is asked about.
_TRUSTED = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_SITE = "https://github.com"


def fetched(folder: str, github: str, again: bool, trust: Any, verbose: bool, unchecked: bool) -> str:
    """The folder of a repository's files, below `folder`."""
    os.makedirs(folder, exist_ok=True)
    path, _, branch = github.partition(":")
    owner, separator, name = path.partition("/")
    if not separator or "/" in name:
        raise ValueError(
            f"expected a repository as owner/name or owner/name:branch, got {github!r}; a "
            'folder is loaded with source="local"'
        )
    branch = branch or _main_branch(folder, owner, name)
    kept = os.path.join(folder, f"{owner}_{name}_{branch.replace('/', '_')}")
    _ask_for_trust(folder, owner, f"{owner}_{name}", os.path.basename(kept), trust)
    if os.path.exists(kept) and not again:
        if verbose:
            sys.stderr.write(f"Using cache found in {kept}\n")
        return kept
    if not unchecked:
        _check_branch(owner, name, branch)
    url = f"{_SITE}/{owner}/{name}/zipball/{branch}"
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        sys.stdout.write(f'Downloading: "{url}" to {temporary}\n')
        with urlopen(url) as source, open(os.path.join(temporary, "all.zip"), "wb") as file:
            shutil.copyfileobj(source, file)
        _unpack(file.name, os.path.join(temporary, "all"))
        [top] = os.listdir(os.path.join(temporary, "all"))
        shutil.rmtree(kept, ignore_errors=True)
        shutil.move(os.path.join(temporary, "all", top), kept)
    return kept


def _main_branch(folder: str, owner: str, name: str) -> str:
    try:
        with urlopen(f"{_SITE}/{owner}/{name}/tree/main/"):
            return "main"
    except HTTPError as error:
        if error.code == 404:
            return "master"
        raise
    except URLError as error:
        for branch in ("main", "master"):
            if os.path.exists(os.path.join(folder, f"{owner}_{name}_{branch}")):
                return branch
        raise RuntimeError(
            "It looks like there is no internet connection and the repo could not be found in "
            f"the cache ({folder})"
        ) from error


def _check_branch(owner: str, name: str, branch: str) -> None:
    """Whether it is the repository's own: GitHub also hands out branches of copies that others made."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token := os.environ.get("GITHUB_TOKEN"):
        headers["Authorization"] = f"token {token}"
    for kind in ("branches", "tags"):
        for page in range(1, 1000):
            url = f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}"
            with urlopen(Request(url, headers=headers)) as answer:
                found = json.load(answer)
            if any(f["name"] == branch or f["commit"]["sha"].startswith(branch) for f in found):
                return
            if not found:
                break
    raise ValueError(
        f"Cannot find {branch} in {_SITE}/{owner}/{name}. If it's a commit from a forked repo, "
        "please call hub.load() with forked repo directly."
    )


def _ask_for_trust(folder: str, owner: str, name: str, kept: str, trust: Any) -> None:
    path = Path(folder) / "trusted_list"
    known = path.read_text(encoding="utf-8").split() if path.exists() else []
    trusted = name in known or owner in _TRUSTED or (Path(folder) / kept).is_dir()
    if trust is False or (trust == "check" and not trusted):
        answer = input(
            f"The repository {name} does not belong to the list of trusted repositories and as such cannot "
            "be downloaded. Do you trust this repository and wish to add it to the trusted list of "
            "repositories (y/N)?"
        ).lower()
        if answer in ("n", "no", ""):
            raise Exception("Untrusted repository.")  # PyTorch's type
        if answer not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
    if not trusted:
        path.write_text("".join(f"{n}\n" for n in (*known, name)), encoding="utf-8")


def _unpack(file: str, into: str) -> None:
    """The files of an archive, none of which may lie outside of it."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            parts = member.filename.replace("\\", "/").split("/")
            if ".." in parts or not parts[0] or ":" in parts[0]:
                raise ValueError(f"Archive entry escapes target directory: {member.filename}")
            archive.extract(member, into)
