"""Kernels of these tests are cached in a directory of their own, new for each session."""

import pytest

from rushlight._engine.core.settings import settings


@pytest.fixture(autouse=True, scope="session")
def cache_directory(tmp_path_factory):
    with settings.using(cache_dir=str(tmp_path_factory.mktemp("kernels"))):
        yield


@pytest.fixture
def llvm():
    pytest.importorskip("llvmlite")
