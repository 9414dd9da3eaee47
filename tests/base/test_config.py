"""The table of knobs."""
import pytest

from rushlight.base.config import KNOBS, Knobs


def test_defaults_and_environment():
    knobs = Knobs({"RUSHLIGHT_NUM_THREADS": "3", "RUSHLIGHT_CACHE": "off", "PATH": "x"})
    assert knobs.num_threads == 3 and knobs.cache is False and knobs.kernels == "auto"


def test_unknown_variables_are_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="did you mean RUSHLIGHT_NUM_THREADS"):
        Knobs({"RUSHLIGHT_NUM_THREAD": "3"})
    with pytest.raises(AttributeError, match="did you mean kernels"):
        Knobs({}).kernel
    with pytest.raises(AttributeError, match="no setting"):
        Knobs({}).nonsense = 1


def test_bad_values_say_what_is_expected():
    with pytest.raises(ValueError, match="expected int"):
        Knobs({"RUSHLIGHT_NUM_THREADS": "many"})
    with pytest.raises(ValueError, match="numpy"):
        Knobs({"RUSHLIGHT_KERNELS": "fast"})


def test_context_manager_puts_back():
    knobs = Knobs({})
    with pytest.raises(KeyError), knobs.using(kernels="numpy", hot_calls=3):
        assert (knobs.kernels, knobs.hot_calls) == ("numpy", 3)
        raise KeyError
    assert (knobs.kernels, knobs.hot_calls) == ("auto", 24)


def test_every_knob_says_what_it_is():
    assert all(k.sentence.endswith(".") and isinstance(k.default, k.type) for k in KNOBS)
