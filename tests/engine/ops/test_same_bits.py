"""A call has the same bits as any other with the same operands, in this process or another."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")


def digests(which, directory, **variables):
    """What same_bits.py says in a new process."""
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(directory), **variables}
    found = subprocess.run(
        [sys.executable, "-m", "tests.engine.ops.same_bits", which],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1500,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


@pytest.mark.parametrize("which", ["rows", "sizes"])
def test_first_and_last_call_empty_and_full_cache_one_and_two_threads(which, tmp_path):
    empty = digests(which, tmp_path, RUSHLIGHT_NUM_THREADS="2")
    full = digests(which, tmp_path, RUSHLIGHT_NUM_THREADS="1")
    assert empty["changed"] == full["changed"] == []
    assert len(empty["first"]) > 2500
    other = [name for name, bits in empty["first"].items() if full["first"][name] != bits]
    assert not other, other
