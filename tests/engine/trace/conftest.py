"""Programs are verified after each pass of the compiler in all of these tests."""

import pytest

from rushlight._engine.core.settings import settings


@pytest.fixture(autouse=True)
def verified():
    with settings.using(verify=True):
        yield
