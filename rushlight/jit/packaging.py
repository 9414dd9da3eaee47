"""Scripted modules in packages of torch.package: their code lies together, each has its own data."""

from __future__ import annotations

from typing import Any

from rushlight._engine.serialization.file_reader import PyTorchFileReader
from rushlight.jit.archive import Code, Storages, described
from rushlight.jit.reader import Archive

_FOLDER = ".data/ts_code"


class PackagedModules:
    """The scripted modules of a package that is being written. storages: those of the whole package."""

    def __init__(self, writer: Any, storages: Storages) -> None:
        self._writer, self._storages = writer, storages
        self._code = Code()

    def serialize(self, module: Any, number: int) -> None:
        """Write a module's data; its code comes at the end."""
        data, constants = described(module, self._code, self._storages, self._storages)
        for key, flat in self._storages.new():
            self._writer.write_record(f".data/{key}", flat, flat.nbytes)
        self._writer.write_record(f"{_FOLDER}/{number}/data.pkl", data, len(data))
        self._writer.write_record(f"{_FOLDER}/{number}/constants.pkl", constants, len(constants))

    def write_files(self) -> None:
        """Write the code of all modules."""
        for path, content in self._code.records().items():
            self._writer.write_text(f"{_FOLDER}/code/{path}", content)
        self._writer.set_min_version(self._code.version)


def unpackage_script_module(importer: Any, script_module_id: str) -> Any:
    """A scripted module of a package: what pickles in packages call."""
    if not isinstance(importer.zip_reader, PyTorchFileReader):
        raise RuntimeError(
            "Loading ScriptObjects from a PackageImporter created from a "
            "directory is not supported. Use a package archive file instead."
        )
    if importer.script_archive is None:
        importer.script_archive = Archive(importer.zip_reader._reader, f"{_FOLDER}/code")
    storages = importer.storages.load
    return importer.script_archive.module(f"{_FOLDER}/{script_module_id}/", storages, storages)


unpackage_script_module.__module__ = "torch.jit._script"  # as files say it
