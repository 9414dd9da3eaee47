"""torch.compiler's names beside compile(): kernels as bytes, filters, settings, functions of NumPy arrays."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime import cache


def test_kernels_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "USED", set())
    with settings.using(cache=True, cache_dir=str(tmp_path / "here")):
        assert torch.compiler.save_cache_artifacts() is None
        name = cache.key("a kernel")
        cache.keep(name, b"code")
        saved = torch.compiler.save_cache_artifacts()
        assert saved is not None
        data, info = saved
    assert info.inductor_artifacts == [name]
    with settings.using(cache=True, cache_dir=str(tmp_path / "there")):
        assert cache.find(name) is None
        loaded = torch.compiler.load_cache_artifacts(data)
        assert loaded is not None and loaded.inductor_artifacts == [name]
        assert cache.find(name) == b"code"
        assert torch.compiler.load_cache_artifacts(b"123") is None


def test_filters() -> None:
    def entry(kind: str, is_global: bool = False, value: object = None, own: bool = False) -> SimpleNamespace:
        source = SimpleNamespace(
            is_unspecialized_builtin_nn_module=lambda: own, is_unspecialized_nn_module=lambda: own
        )
        orig = SimpleNamespace(source=source)
        return SimpleNamespace(guard_type=kind, is_global=is_global, value=value, orig_guard=orig)

    entries = [
        entry("TENSOR_MATCH"),
        entry("TENSOR_MATCH", True, torch.nn.Parameter(torch.ones(1))),
        entry("ID_MATCH", True, own=True),
        entry("GLOBAL_STATE"),
    ]
    c = torch.compiler
    assert c.skip_all_guards_unsafe(entries) == [False] * 4
    assert c.keep_portable_guards_unsafe(entries) == [True, False, False, True]
    assert c.keep_tensor_guards_unsafe(entries) == [True, False, False, False]
    assert c.keep_tensor_guards_unsafe(entries, keep_parameters=True) == [True, True, False, False]
    assert c.skip_guard_on_globals_unsafe(entries) == [True, False, False, True]
    assert c.skip_guard_on_inbuilt_nn_modules_unsafe(entries) == [True, True, False, True]
    assert c.skip_guard_on_all_nn_modules_unsafe(entries) == [True, True, False, True]


def test_settings() -> None:
    config = torch.compiler.config
    assert config.recompile_limit == torch._dynamo.config.recompile_limit == 8
    config.recompile_limit = 9
    assert torch._dynamo.config.recompile_limit == 9
    config.recompile_limit = 8
    with config.patch(job_id="a"):
        assert config.job_id == "a"
    assert config.job_id is None
    with pytest.raises(AttributeError):
        _ = config.unknown
    assert torch.compiler.set_enable_guard_collectives(True) is False
    assert torch.compiler.set_enable_guard_collectives(False) is True


def test_functions_of_arrays() -> None:
    @torch.compile
    @torch.compiler.wrap_numpy
    def squares(a: np.ndarray) -> np.ndarray:
        return np.sum(a * a)

    x = torch.arange(6.0)
    assert squares(x).item() == 55 and isinstance(squares(x), torch.Tensor)
    with pytest.raises(RuntimeError, match="requires grad"):
        squares(x.requires_grad_())
