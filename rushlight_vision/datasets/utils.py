"""Files of data sets: checksums, downloads, archives.

A file appears under its name only when it is whole and its checksum right; none is fetched twice.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from typing import Any


def checksums(of: str) -> list[tuple[str, str]]:
    """(file, MD5) of a data set's files, from checksums.tsv."""
    with open(os.path.join(os.path.dirname(__file__), "checksums.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(name, md5) for known, name, md5 in rows if known == of]


def calculate_md5(fpath: Any, chunk_size: int = 1 << 20) -> str:
    """The MD5 of a file, in hexadecimal."""
    with open(fpath, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def check_integrity(fpath: Any, md5: str | None = None) -> bool:
    """Whether a file is there and, if an MD5 is given, has it."""
    return os.path.isfile(fpath) and (md5 is None or calculate_md5(fpath) == md5)


def download_url(url: str, root: Any, filename: Any = None, md5: str | None = None) -> None:
    """Fetch a file into a folder; URLError (an OSError) offline, RuntimeError for a wrong checksum."""
    import urllib.error
    import urllib.request

    path = os.path.join(os.path.expanduser(root), filename or os.path.basename(url))
    if check_integrity(path, md5):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            request = urllib.request.Request(url, headers={"User-Agent": "rushlight"})
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    shutil.copyfileobj(response, file)
            except OSError as error:
                raise urllib.error.URLError(
                    f"could not download {url} ({error}); without a network, put the file at {path} yourself"
                ) from error
        if not check_integrity(part, md5):
            raise RuntimeError(
                f"File not found or corrupted: expected MD5 {md5}, got {calculate_md5(part)} from {url}"
            )
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def extract_archive(from_path: Any, to_path: Any = None, remove_finished: bool = False) -> str:
    """Unpack a tar or zip archive into a folder, or a .gz into a file beside it; where to."""
    source = os.fspath(from_path)
    target: str = os.fspath(to_path or os.path.dirname(source))
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            archive.extractall(target)
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            archive.extractall(target, filter="data")
    else:
        target = os.path.join(target, os.path.basename(source).removesuffix(".gz"))
        with gzip.open(source) as packed, open(f"{target}.part", "wb") as file:
            shutil.copyfileobj(packed, file)
        os.replace(f"{target}.part", target)
    if remove_finished:
        os.unlink(source)
    return target


def download_and_extract_archive(
    url: str,
    download_root: Any,
    extract_root: Any = None,
    filename: Any = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """download_url, then extract_archive."""
    download_url(url, download_root, filename, md5)
    source = os.path.join(os.path.expanduser(download_root), filename or os.path.basename(url))
    extract_archive(source, extract_root or os.path.expanduser(download_root), remove_finished)
