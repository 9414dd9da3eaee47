"""Freed memory is kept for the next results."""

import os
import platform
import subprocess
import sys

import pytest

# A process of its own, as others' settings and the heap's state count. Pages may be huge ones, or of 4 KB.
_PROGRAM = """
import resource
import rushlight as torch
n = {size} << 17
torch.ones(n, dtype=torch.float64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(n, dtype=torch.float64)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
_GLIBC = tuple(map(int, platform.libc_ver()[1].split("."))) if platform.libc_ver()[0] == "glibc" else (0,)


@pytest.mark.skipif(_GLIBC < (2, 35), reason="another C library, or an old one")
@pytest.mark.parametrize("size", [1, 24, 32, 64])
def test_results_of_some_megabytes_take_freed_pages(size):
    given = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(size=size)],
        env=given,
        text=True,
        capture_output=True,
        check=True,
    )
    assert int(done.stdout) < 20
