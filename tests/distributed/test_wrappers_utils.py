"""torch.distributed.utils: what wrappers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.distributed.utils import _apply_to_tensors, _to_kwargs


@dataclass
class Output:
    loss: Any
    number: int = 3


def test_tensors_of_a_dataclass() -> None:
    given = Output(torch.ones(2))
    found = _apply_to_tensors(lambda t: t + 1, [given])[0]
    assert found.loss.tolist() == [2.0, 2.0] and found.number == 3 and given.loss.tolist() == [1.0, 1.0]


def test_arguments_on_a_device() -> None:
    here = torch.device("cpu")
    assert _to_kwargs((), None, here, False) == ((), ())
    assert _to_kwargs((2,), None, here, False) == (((2,),), ({},))
