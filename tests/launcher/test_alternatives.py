"""PyTorch's modules of other names here, and what is said of those that are missing."""

import subprocess
import sys
from importlib import import_module

import pytest

import rushlight as torch
from rushlight._engine.names import alternatives, placeholders

ALIASES = sorted(alternatives._HOMES)
MISSING = sorted(set(alternatives._LINES) - set(ALIASES))


@pytest.mark.parametrize("name", ALIASES)
def test_other_names(name):
    assert import_module(alternatives.home(name)).__name__ == alternatives.home(name)


@pytest.mark.parametrize("name", MISSING)
def test_what_is_said_to_be_missing_is_missing(name):
    found = torch
    parts = name.split(".")
    for part in parts:
        try:
            found = getattr(found, part)
        except AttributeError as error:
            words = f"has no attribute {part!r} in Rushlight. Instead: "
            # Modules without lazy names answer with Python's own words; importing from them is explained.
            assert words in str(error) or "has no attribute" in str(error)
            return
        except ModuleNotFoundError:
            return
    assert placeholders.is_absent(found), f"{name} is there"


def test_words():
    with pytest.raises(
        NotImplementedError,
        match=r"torch.utils.mkldnn.to_mkldnn can be imported but is not there in "
        r"Rushlight\. Instead: torch.nn's modules",
    ):
        torch.utils.mkldnn.to_mkldnn(None)
    with pytest.raises(
        AttributeError, match=r"'torch.cuda.comm' has no attribute 'nope' in Rushlight\. Instead"
    ):
        torch.cuda.comm.nope
    with pytest.raises(AttributeError, match="module 'torch.nn' has no attribute 'Linaer'$"):
        torch.nn.Linaer
    with pytest.raises(AttributeError, match="module 'torch.optim.adam' has no attribute 'Adma'$"):
        torch.optim.adam.Adma
    assert torch.functional.einsum is torch.einsum
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        torch.cuda.nvtx.range_push("x")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import torch.utils.cpp_extensions", "has no module torch.utils.cpp_extensions (yet)."),
        (
            "from torch.utils.mkldnn import sharp",
            "has no torch.utils.mkldnn.sharp (yet). Instead: torch.nn",
        ),
        ("from torch.nn import Linaer", "has no torch.nn.Linaer (yet)."),
    ],
)
def test_uncaught_imports_are_explained(code, words):
    found = subprocess.run([sys.executable, "-m", "rushlight", "-c", code], capture_output=True, text=True)
    assert found.returncode == 1 and words in found.stderr


def test_names_of_packages():
    code = (
        "import torch._inductor.config as config, torch.distributions.beta, torch.export.exported_program\n"
        "from torch._inductor import aot_compile; from torch.utils.module_tracker import ModuleTracker\n"
        "from torch.cuda.graphs import CUDAGraph; from torch.functional import split; import torch.functional\n"
        "config.triton.unique_kernel_names = True; print(torch.functional.split is split is torch.split)"
    )
    found = subprocess.run([sys.executable, "-m", "rushlight", "-c", code], capture_output=True, text=True)
    assert found.stdout == "True\n", found.stderr


def test_config():
    assert "NumPy: " in torch.__config__.show()
    assert f"at::get_num_threads() : {torch.get_num_threads()}\n" in torch.__config__.parallel_info()


def test_marks_for_torchscript_that_libraries_take() -> None:
    from rushlight import _jit_internal as marks

    def yes(x: int, wanted: bool = False) -> str:
        """What is told."""
        return "yes"

    def no(x: int, wanted: bool = False) -> str:
        return "no"

    def declared(x: int) -> str: ...

    chosen = marks.boolean_dispatch("wanted", 1, False, yes, no, __name__, "chosen")
    assert (chosen(1), chosen(1, True), chosen(1, wanted=True), chosen.__name__) == (
        "no",
        "yes",
        "yes",
        "chosen",
    )
    assert marks._copy_to_script_wrapper(yes) is yes and marks._overload(declared) is declared
    assert marks.BroadcastingList2[int] is None


def test_nvtx_is_refused_when_a_mark_is_made() -> None:
    @torch.cuda.nvtx.range("step")
    def marked() -> None:
        raise AssertionError

    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        marked()


def test_constants_of_missing_classes_are_missing_too() -> None:
    missing = import_module("rushlight.sparse").SparseSemiStructuredTensor
    assert missing._DEFAULT_ALG_ID is missing._DEFAULT_ALG_ID
    with pytest.raises(AttributeError, match="_default_alg_id"):
        missing._default_alg_id
    assert callable(import_module("rushlight._inductor.kernel.flex.common").construct_strides)
