"""The standard's spelling of arguments: what is by name only, what by place too."""

from __future__ import annotations

import inspect

import pytest

import rushlight as torch
from rushlight import array_api

FUNCTIONS = {
    **dict.fromkeys("max min mean all any argmax argmin count_nonzero".split(), "x / axis keepdims"),
    **dict.fromkeys(("sum", "prod"), "x / axis dtype keepdims"),
    **dict.fromkeys(("std", "var"), "x / axis correction keepdims"),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), "x / axis dtype include_initial"),
    "broadcast_to": "x shape /",
    "expand_dims": "x axis /",
    "permute_dims": "x axes /",
    "squeeze": "x axis /",
    "reshape": "x shape / copy",
    "stack": "arrays / axis",
    "concat": "arrays / axis",
    "isdtype": "dtype kind /",
    "full": "shape fill_value / dtype device",
    "empty": "shape / dtype device",
    "clip": "x min max /",
    "fft.fft": "x / n axis norm",
    "fft.ihfft": "x / n axis norm",
    "fft.irfftn": "x / s axes norm",
    "fft.fftshift": "x / axes",
    "linalg.trace": "x / offset dtype",
}
METHODS = {
    "__setitem__": ("index", "value"),
    "to_device": ("device", "stream"),
    "__dlpack__": ("stream", "max_version", "dl_device", "copy"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    found = array_api
    for part in name.split("."):
        found = getattr(found, part)
    places, names = FUNCTIONS[name].split("/")
    signature = inspect.signature(found).parameters.values()
    kinds = {True: places.split(), False: names.split()}
    for by_place, wanted in kinds.items():
        assert [
            p.name
            for p in signature
            if p.kind is not p.VAR_KEYWORD and by_place is (p.kind is not p.KEYWORD_ONLY)
        ] == wanted


@pytest.mark.parametrize("name", METHODS)
def test_method(name):
    assert set(METHODS[name]) <= set(inspect.signature(getattr(torch.ones(2), name)).parameters)


def test_where_arguments_may_stand():
    x = torch.ones(2, 3)
    assert array_api.expand_dims(x, 1).shape == array_api.expand_dims(x, axis=1).shape == (2, 1, 3)
    assert array_api.permute_dims(x, axes=(1, 0)).shape == (3, 2)
    assert array_api.broadcast_to(x, shape=(4, 2, 3)).shape == (4, 2, 3)
    assert array_api.full(shape=2, fill_value=3).tolist() == [3, 3]
    assert x.to_device("cpu", stream=None).device == x.device
