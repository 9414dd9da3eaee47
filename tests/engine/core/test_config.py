"""The table of knobs."""

from pathlib import Path

import pytest

from rushlight._engine.core.settings import KNOBS, Knobs, page


def test_defaults_and_environment():
    knobs = Knobs({"RUSHLIGHT_NUM_THREADS": "3", "RUSHLIGHT_CACHE": "off", "PATH": "x"})
    assert knobs.num_threads == 3 and knobs.cache is False and knobs.kernels == "auto"


def test_an_unknown_variable_is_warned_of_with_a_suggestion():
    with pytest.warns(UserWarning, match="did you mean RUSHLIGHT_NUM_THREADS") as told:
        knobs = Knobs({"RUSHLIGHT_NUM_THREAD": "3", "RUSHLIGHT_HOT_CALLS": "5"})
    assert (knobs.num_threads, knobs.hot_calls, len(told), told[0].filename) == (0, 5, 1, __file__)


def test_unknown_names_are_refused_with_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean kernels"):
        Knobs({}).kernel
    with pytest.raises(AttributeError, match="no setting"):
        Knobs({}).nonsense = 1


def test_a_bad_value_stops_nothing_where_the_environment_has_it():
    with pytest.warns(UserWarning) as told:
        knobs = Knobs({"RUSHLIGHT_NUM_THREADS": "many", "RUSHLIGHT_KERNELS": "fast"})
    assert (knobs.num_threads, knobs.kernels) == (0, "auto")
    words = [str(each.message) for each in told]
    assert words[0] == "RUSHLIGHT_NUM_THREADS: expected int, got 'many'; the default 0 is used"
    assert words[1].startswith("RUSHLIGHT_KERNELS: expected one of ('auto', 'numpy', 'llvm'), got 'fast'")


def test_bad_values_say_what_is_expected():
    with pytest.raises(ValueError, match="expected int"):
        Knobs({}).num_threads = "many"
    with pytest.raises(ValueError, match="numpy"):
        Knobs({}).kernels = "fast"


def test_context_manager_puts_back():
    knobs = Knobs({})
    with pytest.raises(KeyError), knobs.using(kernels="numpy", hot_calls=3):
        assert (knobs.kernels, knobs.hot_calls) == ("numpy", 3)
        raise KeyError
    assert (knobs.kernels, knobs.hot_calls) == ("auto", 24)


def test_every_knob_says_what_it_is():
    assert all(k.sentence.endswith(".") and isinstance(k.default, k.type) for k in KNOBS)


def test_the_page_of_settings_is_the_table():
    there = Path(__file__).parents[3] / "docs" / "settings.md"
    assert there.read_text(encoding="utf-8") == page()
