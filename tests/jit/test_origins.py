"""Archives say where their code was compiled from."""

from __future__ import annotations

import inspect
import io

import pytest

import rushlight as torch


class Views(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = torch.relu(x)
        return x.view(100)


def loaded(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)


def test_a_loaded_programs_errors_and_graphs_show_the_source():
    found = loaded(torch.jit.script(Views()))
    first = inspect.getsourcelines(Views)[1]
    assert f"test_origins.py:{first + 4}:" in str(found.graph)
    with pytest.raises(RuntimeError, match="serialized code(.|\n)*original code") as caught:
        found(torch.ones(2))
    assert f'test_origins.py", line {first + 4}, in forward' in str(caught.value)
    assert 'File "code/__torch__/' in str(caught.value)
    again = loaded(found)
    assert f"test_origins.py:{first + 4}:" in str(again.graph)


def test_a_trace_tells_the_calls():
    found = loaded(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)))
    with pytest.raises(RuntimeError, match="original code"):
        found(torch.ones(1, 3))


def test_the_places_of_one_function_have_one_text():
    found = loaded(torch.jit.script(Views()))
    places = [node.place for node in found._type.methods["forward"].block.nodes]
    assert len({id(place.source) for place in places if getattr(place, "written", "")}) == 1
