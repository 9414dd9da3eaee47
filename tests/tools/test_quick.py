"""tools/quick.py: which tests belong to a change, and how a run ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import quick  # noqa: E402


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A function that runs quick.main() on a file of tests with this body: its exit status."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "quick.py").write_text((ROOT / "tools" / "quick.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(body: str, seconds: float = 60.0) -> int:
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests" / "test_it.py").write_text(body)
        monkeypatch.setattr(quick, "ROOT", tmp_path)
        monkeypatch.setattr(quick, "SECONDS", seconds)
        monkeypatch.setattr(quick, "GRACE", 3.0)
        monkeypatch.setattr(quick, "changed", lambda base: ["tests/test_it.py"])
        monkeypatch.setattr(sys, "argv", ["quick.py"])
        return quick.main()

    return run


def test_a_failure_is_the_status(suite):
    assert suite("def test(): assert True\n") == 0
    assert suite("def test(): assert False\n") == 1


def test_an_interrupted_run_is_no_success(suite):
    assert suite("def test(): raise KeyboardInterrupt\n") == 2


def test_the_time_ends_a_run_between_tests_and_is_no_failure(suite, capfd):
    body = "import time, pytest\n@pytest.mark.parametrize('i', range(50))\ndef test(i): time.sleep(0.3)\n"
    assert suite(body, seconds=3.0) == 0
    assert "had no turn" in capfd.readouterr().out


def test_the_time_ends_collection_too(suite, capfd):
    assert suite("import time\ntime.sleep(60)\ndef test(): pass\n", seconds=1.0) == 0
    assert "which has been ended" in capfd.readouterr().out


def test_nothing_has_no_tests():
    assert quick.runs_for([]) == []


def test_generated_files_have_their_own_tests():
    runs = quick.runs_for(
        ["rushlight/__init__.pyi", "docs/operators.md", "rushlight/_engine/ops/contents.tsv"]
    )
    assert runs == [["tests/engine/ops/test_contents.py"], ["tests/typing/test_stubs.py"]]


def test_a_family_of_ops_has_the_laws_of_its_rows_before_its_folder():
    runs = quick.runs_for(["rushlight/_engine/ops/signal/spectrograms.py"])
    assert runs[0][:2] == ["tests/engine/ops/test_laws.py", "-k"] and "stft" in runs[0][2]
    assert runs[1:] == [["tests/engine/ops"]]


def test_every_folder_that_it_names_is_there():
    listed = [*quick.ELSEWHERE.values(), *quick.GENERATED.values()]
    assert [place for place in listed if not (ROOT / place).exists()] == []
