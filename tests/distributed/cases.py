"""Programs of cases that print what each rank got, and what PyTorch's ranks got, recorded."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.distributed import jobs

RUSHLIGHT = (sys.executable, "-m", "rushlight")
RECORDED = Path(__file__).parent


def told(
    program: str, *arguments: Any, size: int = 2, python: Sequence[str] = RUSHLIGHT, timeout: float = 60.0
) -> list[Any]:
    """The JSON that each rank prints last; AssertionError with what it complained of where one fails."""
    ended = jobs.ranks([*python, str(jobs.PROGRAMS / program), *map(str, arguments)], size, timeout)
    good = [rank.code == 0 if python is RUSHLIGHT else rank.reached_its_end() for rank in ended]
    assert all(good), "\n".join(rank.err[-3000:] for rank in ended)
    return [json.loads(rank.out.splitlines()[-1]) for rank in ended]


def recorded(name: str) -> Any:
    """What PyTorch 2.13 with gloo gave."""
    return json.loads((RECORDED / f"recorded_{name}.json").read_text())


def close(found: Any, wanted: Any) -> bool:
    """Whether two structures are the same, numbers up to 1e-5."""
    if isinstance(found, float) and isinstance(wanted, (int, float)):
        return math.isclose(found, wanted, rel_tol=1e-5, abs_tol=1e-5)
    if isinstance(found, (list, tuple)):
        return isinstance(wanted, list) and len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(found, dict):
        return (
            isinstance(wanted, dict)
            and found.keys() == wanted.keys()
            and all(close(found[key], wanted[key]) for key in found)
        )
    return bool(found == wanted)
