"""Write rushlight/jit/program/schemas.txt: the signatures of PyTorch's internal ops that Rushlight can run.

python tests/goldens/record_jit_schemas.py        needs an installed PyTorch
"""

from __future__ import annotations

import re
from pathlib import Path

import torch

from rushlight._engine.dispatch.dispatcher import lookup
from rushlight.jit.templates import of_tensors, plain

TABLE = Path(__file__).resolve().parents[2] / "rushlight" / "jit" / "program"
# Ops of `prim` that programs name; the others are what compilers make.
PRIM = {
    *(f"is_{kind}" for kind in "cpu mps xla xpu ipu mkldnn quantized sparse_csr vulkan mtia maia".split()),
    "RaiseException",
    "NumToTensor",
    "dtype",
    "device",
    "layout",
    "requires_grad",
    "is_cuda",
    "is_meta",
    "is_sparse",
    "is_nested",
    "data",
    "grad",
    "min",
    "max",
    "abs",
    "type",
    "index",
    "StringIndex",
    "itemsize",
    "nbytes",
    "unchecked_unwrap_optional",
}
# Ops that PyTorch's own modules mention, in branches that are not taken.
MENTIONED = {
    "_upsample_lanczos2d_aa",
    "_transformer_encoder_layer_fwd",
    "_native_multi_head_attention",
    "_nested_tensor_from_mask",
    "is_autocast_enabled",
    "_nested_tensor_from_mask_left_aligned",
    "_no_grad_embedding_renorm_",
    "get_autocast_dtype",
    "is_autocast_cpu_enabled",
    "_is_all_true",
    "_assert_async",
    "list_with_default",
    "_unwrap_optional",
    "to_padded_tensor",
    "_batch_norm_impl_index",
    "is_nested",
    "promote_types",
}


def runs(name: str) -> bool:
    """Whether Rushlight has an op of this name."""
    return any(lookup(space, name) for space in ("torch", "Tensor", "aten", "nn.functional"))


def main() -> None:
    """Write the file."""
    kinds = {*plain.templates, *of_tensors.templates}
    templates = {kind.removeprefix("aten::").split(".")[0] for kind in kinds}
    lines = []
    for schema in map(str, torch._C._jit_get_all_schemas()):
        space, rest = schema.split("::", 1)
        name, overload = re.match(r"(\w+)(?:\.(\w+))?", rest).groups()
        written = re.search(r"Tensor\(\w!\)(\[\])? \w+[,)]", rest.partition("*, ")[2]) or "out" in (
            overload or ""
        ).split("_")
        if written or "Dimname" in rest or "Storage" in rest or rest.startswith("__round"):
            continue
        if space == "prim" and name in PRIM:
            lines.append(f"prim::{rest}")
        elif space == "aten" and (name in templates | MENTIONED or runs(name)):
            lines.append(rest.replace("SymInt", "int"))
    text = "\n".join(dict.fromkeys(lines)) + "\n"
    (TABLE / "schemas.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
