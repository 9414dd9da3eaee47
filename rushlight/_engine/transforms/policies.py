"""How rows take a batch in: by their kind, or as listed here.

"along": the batch in front of every operand, dims counted one further. "front": the same for rows that work
on trailing dims. "align": operands broadcast, with the batch in front. "body": by the rows inside, though the
row has a kernel. The lists are in policies.tsv, rules of single rows in batch_rules.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

Rule = Callable[[Any, Any, dict[str, Any]], Any]

with open(os.path.join(os.path.dirname(__file__), "policies.tsv"), encoding="utf-8") as _file:
    SETS = {name: frozenset(names) for name, *names in map(str.split, _file)}
RANDOM, DYNAMIC, BY_VALUE = SETS["random"], SETS["dynamic"], SETS["by-value"]
# Composites that may draw numbers, whatever their operands are.
DRAWS = SETS["draws"] | RANDOM
ELEMENTWISE_RANDOM = RANDOM - {"multinomial", "_sample_dirichlet", "randperm"}
DYNAMIC_RESULT = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to "
    "vmap over aten::{}; use masks of a fixed shape"
)
OF = {name: policy for policy in ("along", "front", "align", "reduce", "loop") for name in SETS[policy]}
_KINDS = {"reduce": "reduce", "contract": "contract", "composite": "body"}


def rule(row: Any) -> Rule:
    """The rule of a row."""
    rules = import_module("rushlight._engine.transforms.batch_rules").RULES
    found: Rule | None = rules.get(row.name) or rules.get(OF.get(row.name) or _KINDS.get(row.kind))
    return found or (lambda *facts: NotImplemented)
