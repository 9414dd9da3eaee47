"""torch.__version__ is compared as a version; the answers are those of packaging's Version."""

from __future__ import annotations

import operator
import pickle
from typing import Any

import pytest

import rushlight as torch
from rushlight.torch_version import TorchVersion


@pytest.mark.parametrize(
    ("left", "compare", "right", "answer"),
    [
        ("2.13.0", "gt", "2.9", True),
        ("2.13.0", "ge", (2, 13), True),
        ("2.13.0", "lt", [2, 13, 1], True),
        ("2.13.0", "eq", "2.13", True),
        ("2.13.0+cpu", "eq", "2.13.0", False),
        ("2.13.0+cpu", "gt", "2.13.0", True),
        ("2.13.0a0+git12", "lt", "2.13.0", True),
        ("2.13.0.dev2025", "lt", "2.13.0a0", True),
        ("2.13.0rc1", "gt", "2.13.0b2", True),
        ("2.13.0.post1", "gt", "2.13.0", True),
        ("v2.1", "eq", "2.1", True),
        ("2.1", "ne", "v2.1", True),
        ("parrot", "gt", "2.13", True),
        ("2.13", "eq", 3, False),
    ],
)
def test_versions(left: str, compare: str, right: Any, answer: bool) -> None:
    assert getattr(operator, compare)(TorchVersion(left), right) is answer


def test_own_version() -> None:
    version: Any = torch.__version__
    assert version >= "2.9" and version > (2, 9) and str(version) == torch.version.__version__
    assert pickle.loads(pickle.dumps(version)) == version and hash(version) == hash(str(version))
    with pytest.raises(TypeError, match="not supported"):
        assert version > 3
