"""torch.utils.weak, swap_tensors, collect_env, torch.monitor and functions of torch's top level."""

from datetime import timedelta

import pytest

import rushlight as torch
from rushlight.monitor import Aggregation, Stat, register_event_handler, unregister_event_handler
from rushlight.utils import collect_env
from rushlight.utils.weak import TensorWeakRef, WeakIdKeyDictionary


def test_weak_dictionaries_know_tensors_by_identity():
    x, y = torch.ones(2), torch.ones(2)
    held = WeakIdKeyDictionary()
    held[x], held[y] = 1, 2
    reference = TensorWeakRef(x)
    assert held[x] == 1 and held[y] == 2 and len(held) == 2 and reference() is x
    del x
    assert len(held) == 1 and reference() is None and list(held.items())[0][1] == 2


def test_swap_tensors():
    a, b = torch.nn.Parameter(torch.ones(2)), torch.zeros(3)
    b.note = "b"
    (a * 2).sum().backward()
    torch.utils.swap_tensors(a, b)
    assert type(a) is torch.Tensor and a.note == "b" and a.tolist() == [0, 0, 0]
    assert isinstance(b, torch.nn.Parameter) and b.grad.tolist() == [2, 2]
    (b * 3).sum().backward()
    assert b.grad.tolist() == [5, 5]


def test_stats_are_told_as_events():
    told = []
    handle = register_event_handler(told.append)
    stat = Stat("loss", [Aggregation.SUM, Aggregation.COUNT], timedelta(hours=1), 2)
    stat.add(1)
    stat.add(2)
    unregister_event_handler(handle)
    assert told[0].data == {"loss.sum": 3, "loss.count": 2} and stat.count == 0


def test_a_stat_has_what_was_told_last():
    stat = Stat("loss", [Aggregation.SUM, Aggregation.COUNT], timedelta(hours=1), 2)
    stat.add(1)
    assert set(stat.get().values()) == {0.0} and stat.count == 1
    stat.add(2)
    stat.add(5)  # the window has had all its values
    assert stat.get() == {Aggregation.SUM: 3.0, Aggregation.COUNT: 2.0} and stat.count == 0
    told = []
    handle = register_event_handler(told.append)
    short = Stat("short", [Aggregation.MAX], timedelta(hours=1))
    short.add(4)
    del short
    unregister_event_handler(handle)
    assert told[0].data == {"short.max": 4.0}


def test_uninitialized_memory_is_switched_by_its_private_name():
    was = torch._C._get_deterministic_fill_uninitialized_memory()
    torch._C._set_deterministic_fill_uninitialized_memory(not was)
    assert torch.utils.deterministic.fill_uninitialized_memory is not was
    torch._C._set_deterministic_fill_uninitialized_memory(was)


def test_a_type_of_tensors_is_no_base():
    with pytest.raises(TypeError, match="'torch.FloatTensor' is not an acceptable base type"):

        class _Own(torch.FloatTensor):
            pass


def test_top_level():
    x = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert torch.norm_except_dim(x, 2, 0).tolist() == [[5.0], [10.0]]
    assert torch.threshold(x, 5.0, 0.0).tolist() == [[0, 0], [6, 8]]
    assert torch.frobenius_norm(x).item() == pytest.approx(125**0.5)
    assert torch.cond(torch.tensor(True), lambda v: v + 1, lambda v: v, (torch.ones(1),)).item() == 2
    assert torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))[0].item() == 3
    assert torch.sym_max(1, 2.5) == 2.5 and torch.sym_int(-1.5) == -1 and torch.sym_not(0)
    assert "PyTorch version: " in collect_env.get_pretty_env_info()
