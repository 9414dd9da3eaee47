"""Files of data sets: where they come from, checksums, downloads, archives.

A file appears under its name only when it is whole and its checksum right; none is fetched twice.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

from rushlight_vision.pillow import needed

USER_AGENT = "pytorch/vision"


class Source(NamedTuple):
    """A file of a data set: its address ("" where there is none), its name and its MD5."""

    url: str
    filename: str
    md5: str | None


def _table(name: str) -> list[list[str]]:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def checksums(of: str) -> list[tuple[str, str]]:
    """(file, MD5) of a data set's files, from checksums.tsv."""
    return [(name, md5) for known, name, md5 in _table("checksums.tsv") if known == of]


def sources(of: str) -> list[tuple[str, Source]]:
    """(part, file) of a data set, from sources.tsv; several files may be of one part."""
    rows = [row[1:] for row in _table("sources.tsv") if row[0] == of]
    return [
        (part, Source("" if url == "-" else url, name, None if md5 == "-" else md5))
        for part, url, name, md5 in rows
    ]


def known_classes(of: str) -> list[list[str]]:
    """The classes of a data set and what is said of them, from classes.tsv."""
    return [row[1:] for row in _table("classes.tsv") if row[0] == of]


# --- checksums ----------------------------------------------------------------------------------


def calculate_md5(fpath: Any, chunk_size: int = 1 << 20) -> str:
    """The MD5 of a file, in hexadecimal."""
    with open(fpath, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def check_md5(fpath: Any, md5: str, **kwargs: Any) -> bool:
    """Whether a file has that MD5."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath: Any, md5: str | None = None) -> bool:
    """Whether a file is there and, if an MD5 is given, has it."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


# --- downloads ----------------------------------------------------------------------------------


def _get_google_drive_file_id(url: str) -> str | None:
    """The number of a file at Google Drive that an address names."""
    parts = urlparse(url)
    found = (
        re.match(r"/file/d/([^/]*)", parts.path)
        if re.match(r"(drive|docs)\.google\.com", parts.netloc)
        else None
    )
    return found[1] if found else None


def download_url(
    url: str, root: Any, filename: Any = None, md5: str | None = None, max_redirect_hops: int = 3
) -> None:
    """Fetch a file into a folder; URLError (an OSError) offline, RuntimeError for a wrong checksum."""
    import urllib.error
    import urllib.request

    path = os.fspath(os.path.join(os.path.expanduser(root), filename or os.path.basename(url)))
    if check_integrity(path, md5):
        return
    number = _get_google_drive_file_id(url)
    if number is not None:
        download_file_from_google_drive(number, root, filename or os.path.basename(url), md5)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT})
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


def download_file_from_google_drive(
    file_id: str, root: Any, filename: Any = None, md5: str | None = None
) -> None:
    """Fetch a file of Google Drive by its number, with the package gdown; RuntimeError without that."""
    try:
        import gdown
    except ModuleNotFoundError as error:
        raise RuntimeError(
            "To download files from GDrive, 'gdown' is required. You can install it with 'pip install gdown'."
        ) from error
    folder = os.path.expanduser(root)
    path = os.fspath(os.path.join(folder, filename or file_id))
    os.makedirs(folder, exist_ok=True)
    if check_integrity(path, md5):
        return
    gdown.download(id=file_id, output=path, quiet=False, user_agent=USER_AGENT)
    if not check_integrity(path, md5):
        raise RuntimeError(f"File not found or corrupted: expected MD5 {md5} at {path}")


def download_and_extract_archive(
    url: str,
    download_root: Any,
    extract_root: Any = None,
    filename: Any = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """download_url, then extract_archive."""
    folder = os.path.expanduser(download_root)
    name = filename or os.path.basename(url)
    download_url(url, folder, name, md5)
    extract_archive(os.path.join(folder, name), extract_root or folder, remove_finished)


def fetch(source: Source, root: Any) -> None:
    """Download a data set's archive into a folder and unpack it there."""
    download_and_extract_archive(source.url, root, filename=source.filename, md5=source.md5)


# --- archives -----------------------------------------------------------------------------------

_COMPRESSED_FILE_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_SHORT = {".tbz": (".tar", ".bz2"), ".tbz2": (".tar", ".bz2"), ".tgz": (".tar", ".gz")}


def _detect_file_type(path: Any) -> tuple[str, str | None, str | None]:
    """(the ending, the kind of archive, the kind of compression) that a file's name says."""
    endings = Path(path).suffixes
    if not endings:
        raise RuntimeError(
            f"File '{path}' has no suffixes that could be used to detect the archive type and compression."
        )
    last = endings[-1]
    if last in _SHORT:
        return (last, *_SHORT[last])
    if last in (".tar", ".zip"):
        return last, last, None
    if last not in _COMPRESSED_FILE_OPENERS:
        known = sorted({*_SHORT, *_COMPRESSED_FILE_OPENERS, ".tar", ".zip"})
        raise RuntimeError(f"Unknown compression or archive type: '{last}'.\nKnown suffixes are: '{known}'.")
    inner = endings[-2] if len(endings) > 1 and endings[-2] in (".tar", ".zip") else None
    return (inner or "") + last, inner, last


def _decompress(from_path: Any, to_path: Any = None, remove_finished: bool = False) -> Path:
    """Unpack one compressed file, by default beside it; where to."""
    ending, inner, compression = _detect_file_type(from_path)
    if compression is None:
        raise RuntimeError(f"Couldn't detect a compression from suffix {ending}.")
    source = os.fspath(from_path)
    target = os.fspath(to_path or source.replace(ending, inner or ""))
    with _COMPRESSED_FILE_OPENERS[compression](source, "rb") as packed, open(f"{target}.part", "wb") as file:
        shutil.copyfileobj(packed, file)
    os.replace(f"{target}.part", target)
    if remove_finished:
        os.unlink(source)
    return Path(target)


def extract_archive(from_path: Any, to_path: Any = None, remove_finished: bool = False) -> Any:
    """Unpack an archive into a folder (default: its own), or a compressed file into one there; where to.

    The kind is what the name says: .tar, .zip, .gz, .bz2, .xz, and both together; RuntimeError for another.
    """
    source = os.fspath(from_path)
    folder = os.fspath(os.path.dirname(source) if to_path is None else to_path)
    ending, inner, compression = _detect_file_type(source)
    if inner is None:
        target = os.path.join(folder, os.path.basename(source).replace(ending, ""))
        found = _decompress(source, target, remove_finished)
        return os.fspath(found) if isinstance(from_path, str) else found
    if inner == ".zip":
        with zipfile.ZipFile(source) as archive:
            archive.extractall(folder)
    else:
        mode: Any = f"r:{compression[1:] if compression else ''}"
        with tarfile.open(source, mode) as tar:
            tar.extractall(folder, filter="data")
    if remove_finished:
        os.unlink(source)
    return folder if isinstance(from_path, str) else Path(folder)


# --- folders and arguments ----------------------------------------------------------------------


def list_dir(root: Any, prefix: bool = False) -> list[str]:
    """The folders in a folder, in the system's order; with its path before them if `prefix`."""
    folder = os.path.expanduser(root)
    found = [name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name))]
    return [os.path.join(folder, name) for name in found] if prefix is True else found


def list_files(root: Any, suffix: str, prefix: bool = False) -> list[str]:
    """The files in a folder whose names end in `suffix` (a str or a tuple of them)."""
    folder = os.path.expanduser(root)
    found = [
        name
        for name in os.listdir(folder)
        if os.path.isfile(os.path.join(folder, name)) and name.endswith(suffix)
    ]
    return [os.path.join(folder, name) for name in found] if prefix is True else found


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """'a', 'b', 'c'."""
    return "'" + "', '".join(str(item) for item in iterable) + "'"


def verify_str_arg(
    value: Any,
    arg: str | None = None,
    valid_values: Collection[str] | None = None,
    custom_msg: str | None = None,
) -> Any:
    """The value; ValueError where it is no str or, if such are given, none of the valid ones."""
    if not isinstance(value, str):
        where = "" if arg is None else f" for argument {arg}"
        raise ValueError(f"Expected type str{where}, but got type {type(value)}.")
    if valid_values is None or value in valid_values:
        return value
    known = iterable_to_str(valid_values)
    raise ValueError(
        custom_msg or f"Unknown value '{value}' for argument {arg}. Valid values are {{{known}}}."
    )


def matlab(path: Any, **options: Any) -> Any:
    """What a file of MATLAB holds, read by SciPy."""
    return needed("scipy.io", "SciPy").loadmat(path, **options)
