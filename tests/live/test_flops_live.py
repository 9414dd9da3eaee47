"""torch.utils.flop_counter beside PyTorch's."""

import pytest

import rushlight
from tests.utils.flop_programs import counted

torch = pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_counts():
    import torch.utils.flop_counter

    ours, theirs = counted(rushlight), counted(torch)
    assert ours == theirs
