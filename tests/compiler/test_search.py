"""Schedules that are tried out: the same bits, and only where asked for."""
import numpy as np
import pytest

import rushlight as torch
from rushlight.base.config import knobs
from rushlight.compiler import gemm, search, stages


@pytest.fixture
def products():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((256, 96), (96, 128)))
    return a, b, np.empty((256, 128), np.float32)


def test_any_number_of_strips_is_the_product(products):
    a, b, out = products
    for strips in (0, 1, 2, 3, 5, 16):
        _, jobs, _ = gemm.planned(a, b, out, strips)
        assert jobs[:, 3].sum() == 256 and len(jobs) <= max(strips, 4)
    assert search.strips(a, b, out) in (0, 1, 2, 3, 4, 6, 8, 12, 16)


def test_the_search_runs_where_it_is_asked_for(products, monkeypatch):
    asked = []
    monkeypatch.setattr(search, "strips", lambda *operands: asked.append(1) or 2)
    stages.matmul(*products)
    assert not asked
    with knobs.using(autotune=True):
        (stage,) = stages.matmul(*products)
    assert asked and len(stage.jobs) == 2


def test_max_autotune_gives_eagers_bits():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 384), torch.nn.GELU(), torch.nn.Linear(384, 64))
    found = torch.compile(model, mode="max-autotune")
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(300, 256)
            assert torch.equal(found(x), model(x))
