"""torch.fx.replace_pattern: graphs and matches are PyTorch's, recorded by record_rewrites.py; what is refused."""

import json
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import fx
from tests.fx.rewrites import rewrites

RECORD = json.loads((Path(__file__).parents[1] / "goldens" / "rewrites.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(rewrites(torch)))


@pytest.mark.parametrize("name", RECORD)
def test_rewrites_are_pytorchs(found, name):
    assert found[name] == RECORD[name]


def test_a_rewritten_module_runs():
    gm = fx.symbolic_trace(lambda x, y: torch.cat([x, y]).sum() + torch.cat([y, x]).max())
    fx.replace_pattern(gm, lambda a, b: torch.cat([a, b]), lambda a, b: torch.stack([a, b]))
    x, y = torch.ones(2), torch.arange(2.0)
    assert gm(x, y).item() == 4.0 and gm.code.count("torch.stack") == 2


def test_what_is_refused():
    gm = fx.symbolic_trace(lambda x, y: x + y)
    with pytest.raises(AssertionError, match="Placeholder count mismatch: 2 vs 1"):
        fx.replace_pattern(gm, lambda a, b: a + b, lambda a: a)
    with pytest.raises(AssertionError, match="Returning nodes count mismatch: 1 vs 2"):
        fx.replace_pattern(gm, lambda a, b: a + b, lambda a, b: (a, b))
    rewrite = fx.subgraph_rewriter.replace_pattern_with_filters
    with pytest.raises(AssertionError, match="Must provide either a replacement"):
        rewrite(gm, lambda a, b: a + b)
    with pytest.raises(NotImplementedError, match="instead: match_filters"):
        rewrite(gm, lambda a, b: a + b, lambda a, b: a, node_name_match="add")
