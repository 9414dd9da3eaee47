"""How ranks meet: what URLs say, and handlers of a program's own."""

from datetime import timedelta

import pytest

import rushlight.distributed as dist


def test_is_a_function():
    import rushlight.distributed.rendezvous as same  # what PyTorch's package shows under the name too

    assert same is dist.rendezvous


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        (("none://",), RuntimeError, "No rendezvous handler for none://"),
        (("file://x?rank=1&world_size=2", 1, 2), AssertionError, "node-specific arguments"),
        ((5,), RuntimeError, "`url` must be a string"),
        (("env://", "0"), RuntimeError, "`rank` must be an integer"),
        (("env://", 0, 1.5), RuntimeError, "`world_size` must be an integer"),
    ],
)
def test_wrong_calls(args, error, match):
    with pytest.raises(error, match=match):  # at the call, not at the first answer
        dist.rendezvous(*args)


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("file://?rank=0&world_size=1", "path missing"),
        ("file:///tmp/a?world_size=1", "rank parameter missing"),
        ("tcp://127.0.0.1:1?rank=0", "size parameter missing"),
        ("tcp://127.0.0.1?rank=0&world_size=1", "port number missing"),
    ],
)
def test_what_is_missing(url, match):
    with pytest.raises(ValueError, match=match):
        next(dist.rendezvous(url))


def test_file(tmp_path):
    answers = dist.rendezvous(f"file://{tmp_path}/meeting", 1, 2)
    store, rank, size = next(answers)
    assert (rank, size) == (1, 2)
    other, *_ = next(dist.rendezvous(f"file://{tmp_path}/meeting?rank=0&world_size=2"))
    store.set("a", "b")
    assert other.get("a") == b"b"
    with pytest.raises(RuntimeError, match="re-rendezvous"):
        next(answers)


def test_own_handler():
    asked = []

    def handler(url, timeout=None, **kwargs):
        asked.append((url, timeout))
        yield dist.HashStore(), 0, 1

    dist.register_rendezvous_handler("ours", handler)
    with pytest.raises(RuntimeError, match="already registered"):
        dist.register_rendezvous_handler("ours", handler)
    store, *_ = next(dist.rendezvous("ours://there?a=b", 0, 1, timeout=timedelta(seconds=5)))
    assert isinstance(store, dist.HashStore)
    assert asked == [("ours://there?a=b&rank=0&world_size=1", timedelta(seconds=5))]
