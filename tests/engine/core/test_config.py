"""The table of settings."""

from pathlib import Path

import pytest

from rushlight._engine.core.settings import SETTINGS, Settings, page


def test_defaults_and_environment():
    settings = Settings({"RUSHLIGHT_NUM_THREADS": "3", "RUSHLIGHT_CACHE": "off", "PATH": "x"})
    assert settings.num_threads == 3 and settings.cache is False and settings.kernels == "auto"


def test_an_unknown_variable_is_warned_of_with_a_suggestion():
    with pytest.warns(UserWarning, match="did you mean RUSHLIGHT_NUM_THREADS") as told:
        settings = Settings({"RUSHLIGHT_NUM_THREAD": "3", "RUSHLIGHT_HOT_CALLS": "5"})
    assert (settings.num_threads, settings.hot_calls, len(told), told[0].filename) == (0, 5, 1, __file__)


def test_an_empty_variable_is_not_set():
    settings = Settings({"RUSHLIGHT_CPU": "", "RUSHLIGHT_NUM_THREADS": "", "RUSHLIGHT_CACHE": ""})
    assert vars(settings) == vars(Settings({}))


def test_unknown_names_are_refused_with_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean kernels"):
        Settings({}).kernel
    with pytest.raises(AttributeError, match="no setting"):
        Settings({}).nonsense = 1


def test_a_bad_value_stops_nothing_where_the_environment_has_it():
    with pytest.warns(UserWarning) as told:
        settings = Settings({"RUSHLIGHT_NUM_THREADS": "many", "RUSHLIGHT_KERNELS": "fast"})
    assert (settings.num_threads, settings.kernels) == (0, "auto")
    words = [str(each.message) for each in told]
    assert words[0] == "RUSHLIGHT_NUM_THREADS: expected int, got 'many'; the default 0 is used"
    assert words[1].startswith("RUSHLIGHT_KERNELS: expected one of ('auto', 'numpy', 'llvm'), got 'fast'")


def test_bad_values_say_what_is_expected():
    with pytest.raises(ValueError, match="expected int"):
        Settings({}).num_threads = "many"
    with pytest.raises(ValueError, match="numpy"):
        Settings({}).kernels = "fast"


def test_context_manager_puts_back():
    settings = Settings({})
    with pytest.raises(KeyError), settings.using(kernels="numpy", hot_calls=3):
        assert (settings.kernels, settings.hot_calls) == ("numpy", 3)
        raise KeyError
    assert (settings.kernels, settings.hot_calls) == ("auto", 24)


def test_every_knob_says_what_it_is():
    assert all(k.sentence.endswith(".") and isinstance(k.default, k.type) for k in SETTINGS)


def test_the_page_of_settings_is_the_table():
    there = Path(__file__).parents[3] / "docs" / "settings.md"
    assert there.read_text(encoding="utf-8") == page()
