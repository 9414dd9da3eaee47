"""torch.distributions beside PyTorch's."""
import pytest

import rushlight
from tests.distributions.members import answers, differences

torch = pytest.importorskip("torch")


def test_members():
    assert differences(answers(rushlight), answers(torch)) == []
