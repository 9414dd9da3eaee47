"""What launched programs tell of themselves: options by the environment, metrics, events; and their data."""

import argparse
import logging

import pytest

from rushlight.distributed import argparse_util
from rushlight.distributed.elastic import events, metrics
from rushlight.distributed.elastic.utils import get_env_variable_or_raise, get_socket_with_port, macros
from rushlight.distributed.elastic.utils.data import CyclingIterator, ElasticDistributedSampler
from rushlight.distributed.elastic.utils.logging import get_logger


def test_options_that_the_environment_sets(monkeypatch):
    monkeypatch.setenv("PET_FOO", "told")
    monkeypatch.setenv("PET_VERBOSE", "1")
    parser = argparse.ArgumentParser()
    parser.add_argument("-f", "--foo", action=argparse_util.env, required=True)
    parser.add_argument("--bar", action=argparse_util.env, default="none")
    parser.add_argument("--verbose", action=argparse_util.check_env)
    assert vars(parser.parse_args([])) == {"foo": "told", "bar": "none", "verbose": True}
    monkeypatch.setenv("PET_VERBOSE", "0")
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", action=argparse_util.check_env, default=True)
    assert not parser.parse_args([]).verbose and parser.parse_args(["--verbose"]).verbose


class Kept(metrics.MetricHandler):
    def __init__(self):
        self.told = []

    def emit(self, metric_data):
        self.told.append((metric_data.group_name, metric_data.name, metric_data.value))


def test_metrics_of_a_function():
    kept = Kept()
    metrics.configure(kept, group="mine")

    @metrics.prof(group="mine")
    def works():
        return 3

    @metrics.prof(group="mine")
    def fails():
        raise ValueError

    assert works() == 3
    with pytest.raises(ValueError):
        fails()
    names = [(name.rpartition(".<locals>.")[2], value) for _, name, value in kept.told]
    assert names[0] == ("works.success", 1) and names[2] == ("fails.failure", 1)
    assert [name for name, _ in names[1::2]] == ["works.duration.ms", "fails.duration.ms"]


def test_events_are_text_and_back():
    event = events.Event("started", events.EventSource.AGENT, metadata={"pid": 3})
    assert events.Event.deserialize(str(event)) == event
    told = events.RdzvEvent("n", "run", "m", "host", 1, events.NodeState.FAILED, rank=3)
    assert events.RdzvEvent.deserialize(told.serialize()) == told


def test_an_event_names_its_caller(monkeypatch):
    found = []
    monkeypatch.setattr(events, "get_logging_handler", lambda destination: logging.StreamHandler())
    monkeypatch.setattr(events, "record_rdzv_event", found.append)
    events.construct_and_record_rdzv_event("run", "m", events.NodeState.RUNNING)
    assert found[0].name == "test_told.py:test_an_event_names_its_caller" and found[0].error_trace == ""


def test_arguments_ports_and_loggers(monkeypatch):
    assert macros.substitute(["--rank", macros.local_rank, 3, "$x"], "7") == ["--rank", "7", 3, "$x"]
    monkeypatch.delenv("NOTHING", raising=False)
    with pytest.raises(ValueError, match="NOTHING expected, but not set"):
        get_env_variable_or_raise("NOTHING")
    with get_socket_with_port() as found:
        assert found.getsockname()[1] > 0
    assert get_logger().name == __name__ and get_logger().level == logging.WARNING


def test_epochs_one_after_the_other():
    assert list(CyclingIterator(3, lambda epoch: iter([epoch] * 2), start_epoch=1)) == [1, 1, 2, 2]
    assert list(CyclingIterator(2, lambda epoch: iter([]))) == []


def test_a_sampler_that_begins_within_an_epoch():
    ranks = [ElasticDistributedSampler(list(range(10)), 2, rank, 3) for rank in range(2)]
    assert len(ranks[0]) == 4
    assert [list(rank) for rank in ranks] == [[7, 8, 5, 4], [3, 6, 9, 7]]  # as PyTorch has it
    with pytest.raises(ValueError, match="Start index 10 should be less than dataset size 10"):
        ElasticDistributedSampler(list(range(10)), 2, 0, 10)
