"""What NVIDIA's headers say of the functions, numbers and structures that are used through ctypes.

python tools/cuda_headers.py FOLDER [FOLDER ...]

A folder (the newest release first) holds a release of NVIDIA's packages, as `pip install --target FOLDER
nvidia-cuda-runtime nvidia-cublas nvidia-cusolver nvidia-cudnn-cu13 nvidia-nccl-cu13 nvidia-cuda-crt` makes
it, or of some of them; folders of headers for all releases, such as crt's, follow `--include`. A C++ compiler
reads the headers and tells what they declare; all releases must agree. It is written to
tests/cuda/headers.json, which tests compare with the tables of rushlight/_engine/devices/cuda/driver; a
header that no folder has stays there as it is. Libraries that lie beside the headers are opened, and must
have every function that is looked up in them; that needs no GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rushlight._engine.devices.cuda import graphs  # noqa: E402 - from this tree
from rushlight._engine.devices.cuda.driver import (  # noqa: E402
    blas,
    dnn,
    library,
    modules,
    nccl,
    pinned,
    queues,
    real,
    solver,
)

RECORD = ROOT / "tests" / "cuda" / "headers.json"


class Header(NamedTuple):
    """A header: the functions, numbers and structures that are used of it, and the libraries that have them.

    version: an expression of its version. structures: C's name -> (the class, C's names of its fields).
    newer: functions that only later releases have. texts: functions that answer a text, not a number.
    """

    version: str
    functions: Mapping[str, Sequence[Any]]
    constants: Mapping[str, int]
    structures: Mapping[str, tuple[type[ctypes.Structure], Sequence[str]]] = {}
    libraries: Sequence[str] = ()
    newer: Mapping[str, Sequence[Any]] = {}
    texts: Mapping[str, Sequence[Any]] = {}

    @property
    def all(self) -> dict[str, Sequence[Any]]:
        """All functions."""
        return {**self.functions, **self.texts, **self.newer}

    def known(self, text: str) -> dict[str, Sequence[Any]]:
        """The functions of a release, whose header has this text."""
        return {
            **self.functions,
            **self.texts,
            **{f: types for f, types in self.newer.items() if f"{f}(" in text},
        }


# Of the driver's attributes of a device, C's names.
_ATTRIBUTES = {
    "major": "COMPUTE_CAPABILITY_MAJOR",
    "minor": "COMPUTE_CAPABILITY_MINOR",
    "processors": "MULTIPROCESSOR_COUNT",
    "l2": "L2_CACHE_SIZE",
    "memory_bus_width": "GLOBAL_MEMORY_BUS_WIDTH",
    "is_integrated": "INTEGRATED",
    "is_multi_gpu_board": "MULTI_GPU_BOARD",
    "shared_memory_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "shared_memory_per_block_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "shared_memory_per_multiprocessor": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "max_threads_per_multi_processor": "MAX_THREADS_PER_MULTIPROCESSOR",
    "regs_per_multiprocessor": "MAX_REGISTERS_PER_MULTIPROCESSOR",
}
# Errors that the driver says end a context.
_FATAL = (
    "ECC_UNCORRECTABLE",
    "NVLINK_UNCORRECTABLE",
    "ILLEGAL_ADDRESS",
    "LAUNCH_TIMEOUT",
    "CONTEXT_IS_DESTROYED",
    "ASSERT",
    "HARDWARE_STACK_ERROR",
    "ILLEGAL_INSTRUCTION",
    "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE",
    "INVALID_PC",
    "LAUNCH_FAILED",
)


def _driver() -> Header:
    numbers = {
        "CUDA_SUCCESS": library.SUCCESS,
        "CUDA_ERROR_OUT_OF_MEMORY": library.OUT_OF_MEMORY,
        "CUDA_ERROR_NO_DEVICE": library.NO_DEVICE,
        "CUDA_ERROR_INVALID_DEVICE": library.INVALID_DEVICE,
        "CUDA_ERROR_NOT_READY": library.NOT_READY,
        "CU_JIT_ERROR_LOG_BUFFER": modules._LOG,
        "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES": modules._LOG_SIZE,
        "CU_JIT_INPUT_PTX": modules._PTX_INPUT,
        "CU_STREAM_NON_BLOCKING": queues._NON_BLOCKING,
        "CU_EVENT_DISABLE_TIMING": queues._NO_TIMING,
        "CU_MEMHOSTALLOC_PORTABLE": pinned.PORTABLE,
        "CU_STREAM_CAPTURE_MODE_RELAXED": real._Uncaptured._RELAXED,
    }
    for mode in ("global", "thread_local", "relaxed"):
        numbers[f"CU_STREAM_CAPTURE_MODE_{mode.upper()}"] = graphs._MODES.index(mode)
    for name, number in library.ATTRIBUTES.items():
        numbers[f"CU_DEVICE_ATTRIBUTE_{_ATTRIBUTES.get(name, name.upper())}"] = number
    for name, number in zip(_FATAL, sorted(library.DEAD), strict=True):
        numbers[f"CUDA_ERROR_{name}"] = number
    return Header("CUDA_VERSION", library.FUNCTIONS, numbers)


def _blas() -> Header:
    numbers = {
        "CUBLASLT_MATMUL_DESC_TRANSA": blas._TRANSA,
        "CUBLASLT_MATMUL_DESC_TRANSB": blas._TRANSB,
        "CUBLASLT_MATMUL_DESC_EPILOGUE": blas._EPILOGUE,
        "CUBLASLT_MATMUL_DESC_BIAS_POINTER": blas._BIAS,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": blas._BATCHES,
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": blas._BATCH_STRIDE,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": blas._MOST_WORKSPACE,
        "CUBLASLT_EPILOGUE_DEFAULT": blas._PLAIN,
        "CUBLASLT_EPILOGUE_BIAS": blas._WITH_BIAS,
        "CUBLAS_OP_N": int(False),
        "CUBLAS_OP_T": int(True),
        "CUBLAS_COMPUTE_32F_FAST_TF32": blas._TF32,
        "CUBLAS_COMPUTE_32F": blas._TYPES["float32"][2],
        "CUBLAS_COMPUTE_64F": blas._TYPES["float64"][2],
        **{name: number for number, name in blas._STATUS.items()},
    }
    for letter, number in zip("ABCD", blas._ALIGNMENTS, strict=True):
        numbers[f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{letter}_BYTES"] = number
    kinds = ("float32", "R_32F"), ("float64", "R_64F"), ("float16", "R_16F"), ("bfloat16", "R_16BF")
    for of, kind in (*kinds, ("complex64", "C_32F"), ("complex128", "C_64F")):
        numbers[f"CUDA_{kind}"] = blas._TYPES[of][0]
    fields = ("algo", "workspaceSize", "state", "wavesCount", "reserved")
    structures = {"cublasLtMatmulHeuristicResult_t": (blas._Heuristic, fields)}
    return Header("CUBLAS_VERSION", blas._FUNCTIONS, numbers, structures, ("cublasLt",))


def _dnn() -> Header:
    kinds = ("float32", "FLOAT"), ("float64", "DOUBLE"), ("float16", "HALF"), ("bfloat16", "BFLOAT16")
    numbers = {
        **{f"CUDNN_DATA_{kind}": dnn._TYPES[of][0] for of, kind in kinds},
        "CUDNN_TENSOR_NCHW": dnn._NCHW,
        "CUDNN_TENSOR_NHWC": dnn._NHWC,
        "CUDNN_CROSS_CORRELATION": dnn._CROSS_CORRELATION,
        "CUDNN_DEFAULT_MATH": dnn._DEFAULT_MATH,
        "CUDNN_TENSOR_OP_MATH": dnn._TENSOR_OP,
        "CUDNN_FMA_MATH": dnn._FMA,
        "CUDNN_DETERMINISTIC": dnn._DETERMINISTIC,
        "CUDNN_STATUS_SUCCESS": 0,
    }
    fields = ("algo", "status", "time", "memory", "determinism", "mathType", "reserved")
    structures = {
        f"cudnnConvolution{way}AlgoPerf_t": (dnn._Algorithm, fields)
        for way in ("Fwd", "BwdData", "BwdFilter")
    }
    return Header("CUDNN_VERSION", dnn._FUNCTIONS, numbers, structures, ("cudnn",))


def _solver() -> Header:
    numbers = {
        "CUBLAS_FILL_MODE_LOWER": solver.LOWER,
        "CUBLAS_FILL_MODE_UPPER": solver.UPPER,
        "CUBLAS_OP_N": solver.PLAIN,
        "CUBLAS_OP_T": solver.TRANSPOSED,
        "CUSOLVER_EIG_MODE_NOVECTOR": int(False),
        "CUSOLVER_EIG_MODE_VECTOR": int(True),
        **{f"CUSOLVER_STATUS_{name}": number for number, name in solver._STATUS.items()},
    }
    kinds = {"float32": "R_32F", "float64": "R_64F", "complex64": "C_32F", "complex128": "C_64F"}
    numbers |= {f"CUDA_{kind}": solver.KINDS[of][0] for of, kind in kinds.items()}
    return Header("CUSOLVER_VERSION", solver.functions(), numbers, {}, ("cusolver",), solver.NEWER)


def _nccl() -> Header:
    numbers = {
        "ncclSuccess": 0,
        "ncclInProgress": nccl.IN_PROGRESS,
        "ncclSum": nccl.SUM,
        "ncclProd": nccl.PROD,
        "ncclMax": nccl.MAX,
        "ncclMin": nccl.MIN,
        "ncclAvg": nccl.AVG,
        "ncclScalarHostImmediate": nccl.HOST_SCALAR,
        "NCCL_SPLIT_NOCOLOR": nccl.NO_COLOR,
        **{name: number for number, (name, _) in nccl.RESULTS.items()},
        **{f"nccl{of.capitalize()}": n for of, n in nccl.TYPES.items() if not of.startswith("float8")},
    }
    structures = {"ncclUniqueId": (nccl.UniqueId, ("internal",))}
    return Header("NCCL_VERSION_CODE", nccl.FUNCTIONS, numbers, structures, ("nccl",), nccl.NEWER, nccl.TEXTS)


def headers() -> dict[str, Header]:
    """What is used of each header, by its name."""
    return {
        "cuda.h": _driver(),
        "cublasLt.h": _blas(),
        "cudnn.h": _dnn(),
        "cusolverDn.h": _solver(),
        "nccl.h": _nccl(),
    }


# --- what ctypes has --------------------------------------------------------------------------------


def kind_of(of: Any) -> str:
    """What an argument of a ctypes type is, in the record's words: "pointer", "integer 4"."""
    if of in (ctypes.c_void_p, ctypes.c_char_p):
        return "pointer"
    if issubclass(of, ctypes.Structure):
        return f"structure {ctypes.sizeof(of)}"
    return f"{'float' if of in (ctypes.c_float, ctypes.c_double) else 'integer'} {ctypes.sizeof(of)}"


def fields_of(of: type[ctypes.Structure], names: Sequence[str]) -> list[Any]:
    """A structure's size, and of each field its name, where it begins and its size."""
    own = [getattr(of, str(field[0])) for field in of._fields_]
    return [ctypes.sizeof(of), *[[name, f.offset, f.size] for name, f in zip(names, own, strict=True)]]


# --- what the headers say ---------------------------------------------------------------------------

_PROGRAM = """
#define __CUDA_API_VERSION_INTERNAL
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include "{header}"
template <class T> void kind() {{
    if (std::is_pointer<T>::value) printf("\\"pointer\\"");
    else if (std::is_class<T>::value) printf("\\"structure %zu\\"", sizeof(T));
    else printf("\\"%s %zu\\"", std::is_floating_point<T>::value ? "float" : "integer", sizeof(T));
}}
template <class F> struct Told;
template <class R, class... A> struct Told<R(A...)> {{
    static void tell(const char *name) {{
        printf("\\"%s\\": [", name);
        kind<R>();
        ((printf(", "), kind<A>()), ...);
        printf("],\\n");
    }}
}};
int main() {{
    printf("{{\\"version\\": %lld, \\"functions\\": {{", (long long)({version}));
    {functions}
    printf("\\"\\": []}}, \\"constants\\": {{");
    {constants}
    printf("\\"\\": 0}}, \\"structures\\": {{");
    {structures}
    printf("\\"\\": []}}}}");
}}
"""


def _program(name: str, header: Header, known: Mapping[str, Any]) -> str:
    functions = [f'Told<decltype({f})>::tell("{f}");' for f in known]
    constants = [f'printf("\\"{c}\\": %lld,\\n", (long long){c});' for c in header.constants]
    structures = []
    for of, (_, fields) in header.structures.items():
        parts = [
            f'printf(", [\\"{f}\\", %zu, %zu]", offsetof({of}, {f}), sizeof((({of} *)0)->{f}));'
            for f in fields
        ]
        structures.append(f'printf("\\"{of}\\": [%zu", sizeof({of})); {" ".join(parts)} printf("],");')
    lines = {"functions": functions, "constants": constants, "structures": structures}
    given = {what: "\n    ".join(each) for what, each in lines.items()}
    return _PROGRAM.format(header=name, version=header.version, **given)


def _text(name: str, places: Sequence[Path]) -> str:
    return next((p / name).read_text(encoding="utf-8") for p in places if (p / name).exists())


def declared(name: str, header: Header, places: Sequence[Path]) -> dict[str, Any]:
    """What a header declares of what is used, by a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "told.cpp", Path(folder) / "told"
        source.write_text(_program(name, header, header.known(_text(name, places))), encoding="utf-8")
        command = [
            "g++",
            "-std=c++17",
            "-w",
            *[f"-I{place}" for place in places],
            "-o",
            str(program),
            str(source),
        ]
        subprocess.run(command, check=True)
        shown = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(shown)
    for part in ("functions", "constants", "structures"):
        del found[part][""]
    return found


def _release(folder: Path, more: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each header of a release what it declares."""
    own = sorted(folder.glob("**/include"))
    for name, header in headers().items():
        if any((place / name).exists() for place in own):
            yield name, declared(name, header, [*own, *more])


def missing(folder: Path, header: Header, newest: bool) -> list[str]:
    """Functions that the libraries of a release lack; [] where the release has none of them. newest: whether
    it has all.
    """
    for stem in ("nvJitLink", "cublasLt", "cublas", "cusparse"):  # which others need
        for path in sorted(folder.glob(f"**/lib{stem}.so.*")):
            ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    opened = [ctypes.CDLL(str(p)) for s in header.libraries for p in sorted(folder.glob(f"**/lib{s}.so.*"))]
    asked = header.all if newest else {**header.functions, **header.texts}
    return [f for f in asked if opened and not any(hasattr(o, f) for o in opened)]


def main() -> int:
    """Write the record; exit status 1 where releases differ, or a library lacks a function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--include", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    found, wrong = dict[str, Any](), list[str]()
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    for folder in given.folders:
        for name, told in _release(folder, given.include):
            version = told.pop("version")
            before = found.setdefault(name, {"versions": [], **told})
            before["versions"].append(version)
            wrong += [
                f"{name} {version}: {part}: {key} is {told[part][key]}, was {value}"
                for part in told
                for key, value in before[part].items()
                if told[part].get(key, value) != value  # an older release lacks some functions
            ]
        for name, header in headers().items():
            newest = folder is given.folders[0]
            wrong += [f"{folder}: no {f}, of {name}" for f in missing(folder, header, newest)]
    kept = {name: found.get(name, recorded.get(name)) for name in headers()}
    RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print("\n".join([*wrong, f"wrote {RECORD.name}: {', '.join(found)}"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
