"""Exported programs compiled ahead of time: a .pt2 file that holds the program and its kernels' machine code.

A process of its own, with an empty cache of kernels, runs the program until it is compiled; what is in that
cache then goes into the file. Whoever loads the file puts it into his own cache. Entries are found by digests
of what they were made from, the processor and the compiler among that, so that machine code of another kind
of machine is never found: kernels are compiled there as always, at the first calls. A package's machine code
is run: load only what you trust.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from typing import Any

import rushlight as torch
from rushlight._dynamo.api import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from rushlight._dynamo.options import list_mode_options as list_mode_options, list_options as list_options
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime import cache
from rushlight.export import settings as config
from rushlight.export.files.saving import load, save
from rushlight.export.program import ExportedProgram

__all__ = ["aot_compile", "aot_load", "aoti_compile_and_package", "aoti_load_package", "config"]
_FOLDER = "data/aotinductor/model/"


class AOTICompiledModel:
    """A package's program: called as the module was that was exported, without gradients."""

    def __init__(self, program: ExportedProgram, metadata: dict[str, str]) -> None:
        self._program, self._metadata = program, metadata
        self._run = torch.compile(program.module(), mode="reduce-overhead")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return self._run(*args, **kwargs)

    def get_metadata(self) -> dict[str, str]:
        """What the package was compiled on and for."""
        return dict(self._metadata)

    def get_constant_fqns(self) -> list[str]:
        """The names of the tensors that the program holds."""
        return [*self._program.state_dict, *self._program.constants]


def aoti_compile_and_package(
    exported_program: ExportedProgram,
    _deprecated_unused_args: Any = None,
    _deprecated_unused_kwargs: Any = None,
    *,
    package_path: Any = None,
    inductor_configs: dict[str, Any] | None = None,
) -> str:
    """Compile a program for its example inputs into the package `package_path`, a file that ends in .pt2.

    Without a path the file lies in the cache of kernels. The answer is the path. inductor_configs: accepted.
    torch.export.load reads the file, too. Errors: ValueError for no program, RuntimeError for one without
    example inputs, AssertionError for another path.
    """
    if not isinstance(exported_program, ExportedProgram):
        raise ValueError("Only ExportedProgram is supported")
    if exported_program.example_inputs is None:
        raise RuntimeError(
            "exported_program.example_inputs is required to be set in order for AOTInductor compilation."
        )
    if package_path is None:
        os.makedirs(cache.directory(), exist_ok=True)
        handle, package_path = tempfile.mkstemp(".pt2", "package-", cache.directory())
        os.close(handle)
    path: str = os.fspath(package_path)
    if not path.endswith(".pt2"):
        raise AssertionError(f"Expect package path to be a file ending in .pt2, or None. Instead got {path}")
    save(exported_program, path)
    with tempfile.TemporaryDirectory() as folder:
        _run_apart(os.path.abspath(path), folder)
        with zipfile.ZipFile(path, "a") as archive:
            root = archive.namelist()[0].partition("/")[0]
            for name in sorted(os.listdir(folder)):
                archive.write(os.path.join(folder, name), f"{root}/{_FOLDER}{name}")
            archive.writestr(
                f"{root}/{_FOLDER}metadata.json",
                json.dumps(
                    {
                        "AOTI_DEVICE_KEY": "cpu",
                        "AOTI_CPU_ISA": torch.backends.cpu.get_cpu_capability(),
                        "AOTI_MACHINE": os.uname().machine,
                        "RUSHLIGHT_EMITTERS": cache.emitter_digest(),
                    }
                ),
            )
    return path


def _run_apart(path: str, folder: str) -> None:
    root = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    code = f"from rushlight.export.ahead import _until_compiled; _until_compiled({path!r})"
    there = {
        **os.environ,
        "RUSHLIGHT_CACHE_DIR": folder,
        "RUSHLIGHT_CACHE": "1",
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
    }
    ended = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"aoti_compile_and_package: the program does not run:\n{ended.stderr[-2000:]}")


def _until_compiled(path: str) -> None:
    """Calls with the example inputs; the fourth replays what the others recorded, compiled and compared."""
    program = load(path)
    args, kwargs = program.example_inputs
    model = AOTICompiledModel(program, {})
    for _ in range(4):
        model(*args, **kwargs)


def aoti_load_package(
    path: Any, run_single_threaded: bool = False, device_index: int = -1
) -> AOTICompiledModel:
    """The model of a package. run_single_threaded, device_index: accepted. RuntimeError for other files."""
    program, metadata = load(path), {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            _, own, entry = name.partition(_FOLDER)
            if entry == "metadata.json":
                metadata = json.loads(archive.read(name))
            elif own and settings.cache:
                cache.put(entry, archive.read(name))
    if not metadata:
        raise RuntimeError(
            f"{path} holds an exported program that is not compiled: expected a package of "
            "torch._inductor.aoti_compile_and_package; torch.export.load reads it"
        )
    return AOTICompiledModel(program, metadata)


def aot_compile(
    gm: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    options: dict[str, Any] | None = None,
) -> str:
    """Export a module for these arguments, and aoti_compile_and_package it; the path of the package.

    options: "aot_inductor.output_path" is where it goes. torch._export.aot_load(path, "cpu") loads it.
    """
    program = torch.export.export(gm, args, kwargs)
    return aoti_compile_and_package(program, package_path=(options or {}).get("aot_inductor.output_path"))


def aot_load(so_path: str, device: str) -> AOTICompiledModel:
    """The model of aot_compile's package. RuntimeError for a device that is not the CPU."""
    if device != "cpu":
        raise RuntimeError(f"Unsupported device {device}")
    return aoti_load_package(so_path)
