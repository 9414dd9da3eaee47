"""Schedules that are tried out: the same bits, and only where asked for."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.products import gemm
from rushlight._engine.kernels.runtime import autotune, handwritten_stages
from rushlight._engine.kernels.runtime.handwritten_stages import Scratch


@pytest.fixture
def products():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((256, 96), (96, 128))]


def test_no_schedule_changes_a_bit(products):
    usual = gemm.multiplier(*products)(*products)
    for rows in (6, 24, 30, 96, 256, 1000):
        assert gemm.multiplier(*products, rows)(*products).tobytes() == usual.tobytes()
    assert autotune.rows(*products) in (0, 24, 48, 96, 192, 384, 768)


def test_the_search_runs_where_it_is_asked_for(products, monkeypatch):
    asked, out = [], np.empty((256, 128), np.float32)
    monkeypatch.setattr(autotune, "rows", lambda *operands: asked.append(1) or 64)
    usual = handwritten_stages.product(Scratch(), out, *products)
    assert not asked
    with settings.using(autotune=True):
        found = handwritten_stages.product(Scratch(), out, *products)
    assert asked and len(found[-1].jobs) != len(usual[-1].jobs)


def test_max_autotune_gives_eagers_bits():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 384), torch.nn.GELU(), torch.nn.Linear(384, 64))
    found = torch.compile(model, mode="max-autotune")
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(300, 256)
            assert torch.equal(found(x), model(x))
