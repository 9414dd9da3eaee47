"""What holds for every test: the same cases and the same random numbers in every run, whichever tests run.

Property tests draw the same cases in every run; `--hypothesis-profile=random` draws others.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

import rushlight as torch

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("random")
settings.load_profile("repeatable")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """A module's own tensors do not depend on the modules that were imported before it."""
    if isinstance(collector, pytest.Module):
        torch.manual_seed(0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """A test's random numbers do not depend on the tests that ran before it."""
    torch.manual_seed(0)
