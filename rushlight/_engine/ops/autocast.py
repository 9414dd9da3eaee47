"""What autocast does to each row: PyTorch's lists for the CPU.

"lower": products and convolutions run in bfloat16 or float16. "float32": delicate ops run in float32.
"promote": operands meet in the widest of their types. "through": the rows inside have their own policies.
All others run on whatever their operands are, and so do the rows inside them ("keep"). Of a few rows, the
arguments decide. The lists are in autocast.tsv.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> str:
    return "float32" if mode == "replicate" or (mode == "reflect" and len(pad) < 6) else "keep"


def _max_pool(*args: Any, return_indices: bool = False, **more: Any) -> str:
    return "keep" if return_indices or (len(args) > 6 and args[6]) else "float32"


def _recurrent(input: Any, *rest: Any, **more: Any) -> str:
    # The new state is a sum with the old one, in the type of that; the types of weights must fit.
    return "keep" if input._kind.dtype.name in ("float32", "float64") else "lower"


CHOSEN: dict[str, Callable[..., str]] = {
    "pad": _pad,
    "max_pool3d_function": _max_pool,
    **dict.fromkeys(("gru", "lstm_cell", "gru_cell"), _recurrent),
}


def _read(file: str) -> dict[str, str]:
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as lines:
        return {name: policy for policy, *names in map(str.split, lines) for name in names}


POLICIES = _read("autocast.tsv")
# PyTorch's lists for CUDA; what is not in them keeps its operands' types. "refused": see REFUSED.
CUDA = _read("autocast_cuda.tsv")
REFUSED = {
    "binary_cross_entropy": (
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
        "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
        "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
        "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
        "safe to autocast."
    )
}
POLICIES |= dict.fromkeys(CHOSEN, "by arguments")
