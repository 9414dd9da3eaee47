"""Programs are verified after each pass of the compiler in all of these tests, and replayed however long that
takes: which way is the faster depends on the machine.
"""

import math

import pytest

from rushlight._engine.core.settings import settings
from rushlight._engine.trace import choice


@pytest.fixture(autouse=True)
def verified():
    with settings.using(verify=True):
        yield


@pytest.fixture(autouse=True)
def replayed(monkeypatch):
    monkeypatch.setattr(choice, "REPLAYS", math.inf)
