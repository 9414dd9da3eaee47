"""Nested dicts and lists of checkpoints: what is in them, by paths and by dotted names."""

import rushlight as torch
from rushlight.distributed.checkpoint import _nested_dict, _traverse


def test_there_and_back():
    given = {
        "a": 1,
        "b": [1, 2],
        "c": {"1": 2, "2": torch.tensor(3)},
        "d": [[torch.tensor(2), "x"], [1, 2], {"e": [44]}],
    }
    flat, paths = _nested_dict.flatten_state_dict(given)
    assert list(flat) == ["a", "b", "c.1", "c.2", "d.0.0", "d.0.1", "d.1", "d.2.e"]
    assert flat["b"] == [1, 2] and paths["d.2.e"] == ("d", 2, "e")
    restored = _nested_dict.unflatten_state_dict(flat, paths)
    assert str(restored) == str(given)


def test_elements_by_their_paths():
    made = {}
    _traverse.set_element(made, ("k", 2), 1)
    _traverse.set_element(made, ("m", "n", 0, 0), 9)
    assert made == {"k": [None, None, 1], "m": {"n": [[9]]}}
    assert _traverse.get_element(made, ("m", "n", 0)) == [9]
    for nowhere in (("x",), ("k", 3), ("k", "n"), ("m", 0)):
        assert _traverse.get_element(made, nowhere, 7) == 7
