"""Records PyTorch's names and signatures of the ops that the table knows, for exported programs.

python tests/goldens/record_aten.py        writes rushlight/export/schemas.tsv; needs PyTorch beside Rushlight
"""

from __future__ import annotations

from pathlib import Path

import torch

from rushlight._engine.ops.table import NAMES, ROWS, complete

# Ops that programs reach by other names than the table's.
MORE = (
    "cross_entropy_loss",
    "im2col",
    "col2im",
    "to",
    "copy_",
    "fill_",
    "zero_",
    "lift_fresh_copy",
    "detach_",
    "detach",
    "item",
    "_local_scalar_dense",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "upsample_bilinear2d",
    "upsample_bicubic2d",
    "upsample_linear1d",
    "upsample_trilinear3d",
    "sym_size",
    "sym_stride",
    "size",
    "stride",
    "is_non_overlapping_and_dense",
    "is_strides_like_format",
    "alias",
    "contiguous",
    "new_zeros",
    "slice",
    "select",
    "__and__",
    "__or__",
    "__xor__",
    "numpy_T",
    "_to_copy",
    "instance_norm",
    "scalar_tensor",
    "native_batch_norm",
    "_assert_tensor_metadata",
    "multi_margin_loss",
    "view",
    "view_as",
    "expand_as",
    "type_as",
    "relu_",
    "linalg_vector_norm",
    "linalg_norm",
    "special_expit",
    "linalg_cross",
)
UNWANTED = ("!) out", "Dimname", "Stream", "QScheme", "complex ", "Device ")


def main() -> None:
    """Write the file."""
    complete()
    prefixes = {"special": "special_", "linalg": "linalg_", "fft": "fft_"}
    written = {f"{row.name}_" for row in ROWS.values() if row.inplace}
    names = written | {
        prefixes.get(space, "") + name
        for space, name in NAMES
        if space in ("aten", "torch", "Tensor", "nn.functional", *prefixes)
    }
    lines = []
    for name in sorted(names | set(MORE)):
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
            text = str(schema).removeprefix("aten::")
            overload = schema.overload_name
            if (
                not schema.name.startswith("aten::")
                or "out" in overload.split("_")
                or overload.endswith("out")
            ):
                continue
            if "Tensor" not in text or any(word in text for word in UNWANTED):
                continue
            lines.append(text)
    target = Path(__file__).resolve().parents[2] / "rushlight" / "export" / "schemas.tsv"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
