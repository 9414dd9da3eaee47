"""Tensors made in inference mode: marked, out of autograd's reach, each with its own storage."""

import pytest

import rushlight as torch


@pytest.fixture
def made():
    weight = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        yield weight, torch.ones(3), weight * 2, weight.detach()


def test_what_is_made_is_marked(made):
    weight, own, computed, alias = made
    assert own.is_inference() and computed.is_inference() and own.view(1, 3).is_inference()
    assert not alias.is_inference() and not weight.is_inference()
    assert torch.cat([own, own]).is_inference() and own.sum().is_inference()
    assert own.data.is_inference() and not weight.data.is_inference()
    assert weight.data.add_(1)._version == 1 and weight._version == 0  # data has a version of its own


def test_outside_they_stay_out_of_the_graph():
    weight = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        own, other = torch.ones(3), torch.zeros(3)
        view = own.view(3, 1)
        own.add_(1)
    assert not torch.ones(2).is_inference() and not own.clone().is_inference()
    assert view.tolist() == [[2.0]] * 3 and other.tolist() == [0.0] * 3
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        weight * own
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        own.mul_(2)
    with pytest.raises(RuntimeError, match="version counter"):
        own._version
    (weight + own).sum().backward()
    assert weight.grad.tolist() == [1.0] * 3
