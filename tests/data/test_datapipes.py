"""Data pipes: methods that are registered, the usual pipes, one iterator at a time."""

from __future__ import annotations

import pickle

import pytest

import rushlight as torch
from rushlight.utils.data import IterDataPipe, functional_datapipe
from rushlight.utils.data.datapipes.iter import FileLister, IterableWrapper, Mapper
from rushlight.utils.data.datapipes.map import SequenceWrapper


def _numbers() -> IterableWrapper:
    return IterableWrapper(range(10))


def test_pipes_are_chained_by_methods() -> None:
    doubled = _numbers().map(lambda x: x * 2).filter(lambda x: x > 4)
    assert list(doubled.batch(3)) == [[6, 8, 10], [12, 14, 16], [18]]
    assert list(_numbers().batch(2).batch(2).unbatch(2)) == list(range(10)) and len(_numbers().batch(3)) == 4
    assert list(_numbers().zip(IterableWrapper("abc"))) == [(0, "a"), (1, "b"), (2, "c")]
    assert list(IterableWrapper([1, 2]).mux(IterableWrapper([3, 4]))) == [1, 3, 2, 4]
    assert list(_numbers().groupby(lambda x: x % 3)) == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    even, odd = _numbers().demux(2, lambda x: x % 2)
    assert (list(even), list(odd)) == ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9])
    assert [list(copy) for copy in _numbers().fork(2)] == [list(range(10))] * 2
    assert list(IterableWrapper([(1, 2)]).map(lambda a, b: a + b, [0, 1], -1)) == [(1, 2, 3)]
    assert repr(Mapper(_numbers(), abs)) == "MapperIterDataPipe"


def test_orders_are_pytorchs() -> None:
    torch.manual_seed(0)
    assert list(_numbers().shuffle()) == [3, 5, 0, 1, 9, 6, 2, 7, 4, 8]
    assert list(_numbers().shuffle(buffer_size=3)) == [0, 3, 1, 5, 6, 7, 8, 4, 2, 9]
    torch.manual_seed(1)
    assert list(SequenceWrapper([1, 2, 3, 4, 5]).shuffle()) == [2, 1, 5, 3, 4]


def test_sequences() -> None:
    numbers = SequenceWrapper([1, 2, 3, 4, 5])
    assert [numbers.map(lambda x: x + 1)[i] for i in range(5)] == [2, 3, 4, 5, 6]
    assert numbers.batch(2)[2] == [5] and len(numbers.batch(2)) == 3 and numbers.zip(numbers)[1] == (2, 2)


def test_own_pipes() -> None:
    @functional_datapipe("twice_for_tests")
    class Twice(IterDataPipe):
        def __init__(self, source) -> None:
            self.source = source

        def __iter__(self):
            for item in self.source:
                yield item
                yield item

    assert list(_numbers().twice_for_tests())[:4] == [0, 0, 1, 1]
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("twice_for_tests")(Twice)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _numbers().nothing


def test_one_iterator_at_a_time() -> None:
    pipe = _numbers()
    first = iter(pipe)
    next(first)
    second = iter(pipe)
    assert next(first) == 1  # the second has not begun
    next(second)
    with pytest.raises(RuntimeError, match="has been invalidated"):
        next(first)
    assert list(pickle.loads(pickle.dumps(pipe))) == list(range(10))
    batches = torch.utils.data.DataLoader(pipe, batch_size=4)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_graphs_of_pipes_and_their_settings():
    from rushlight.utils.data import DataChunk, graph_settings
    from rushlight.utils.data.backward_compatibility import worker_init_fn
    from rushlight.utils.data.graph import traverse, traverse_dps

    source = IterableWrapper(range(10))
    shuffled = source.shuffle()
    pipe = shuffled.sharding_filter().zip(source.map(str))
    graph = traverse_dps(pipe)
    pipes = graph_settings.get_all_graph_pipes(graph)
    assert pipes[0] is pipe and source in pipes and len(pipes) == 5
    assert list(graph) == [id(pipe)] and graph[id(pipe)][0] is pipe
    with pytest.warns(FutureWarning, match="use `traverse_dps`"):
        assert traverse(pipe, only_datapipe=True).keys() == graph.keys()
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe`"):
        traverse_dps([source])

    graph_settings.apply_shuffle_settings(shuffled, shuffle=False)
    assert list(shuffled) == list(range(10))
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        added = graph_settings.apply_shuffle_settings(source, shuffle=True)
    first = [
        list(graph_settings.apply_random_seed(added, torch.Generator().manual_seed(3))) for _ in range(2)
    ]
    assert first[0] == first[1] and sorted(first[0]) == list(range(10))
    assert list(graph_settings.apply_sharding(source.sharding_filter(), 3, 1)) == [1, 4, 7]
    with pytest.raises(RuntimeError, match="Sharding twice"):
        graph_settings.apply_sharding(source.sharding_filter().sharding_filter(), 2, 0)
    with pytest.warns(FutureWarning, match="worker_init_fn"):
        worker_init_fn(0)
    chunk = DataChunk(range(3))
    assert (
        chunk == [0, 1, 2] and chunk.as_str("- ") == "- [0, 1, 2]" and list(chunk.raw_iterator()) == [0, 1, 2]
    )


class _Counting(torch.utils.data.IterDataPipe):
    def __iter__(self):
        return self

    def __next__(self):
        if self.place == 3:
            raise StopIteration
        self.place += 1
        return self.place

    def reset(self):
        self.place = 0


def test_a_pipe_may_be_its_own_iterator() -> None:
    pipe = _Counting()
    assert list(pipe) == [1, 2, 3]
    assert list(pipe) == [1, 2, 3]
    assert pipe._number_of_samples_yielded == 3
    first, _second = iter(pipe), iter(pipe)
    with pytest.raises(RuntimeError, match="has been invalidated"):
        next(first)


def test_children_are_pickled_and_begin_anew() -> None:
    even, odd = pickle.loads(pickle.dumps(_numbers().demux(2, _is_odd)))
    assert list(even) == [0, 2, 4, 6, 8]
    assert list(odd) == [1, 3, 5, 7, 9]
    assert len(torch.utils.data.graph.traverse_dps(even)[id(even)][1]) == 1


def _is_odd(n: int) -> int:
    return n % 2


def test_files_are_listed_opened_and_read(tmp_path) -> None:
    (tmp_path / "within").mkdir()
    for name in ("b.txt", "a.txt", "c.csv", "within/d.txt"):
        (tmp_path / name).write_text(name)
    pipe = FileLister(str(tmp_path), "*.txt", recursive=True)
    assert [path.removeprefix(f"{tmp_path}/") for path in pipe] == ["a.txt", "b.txt", "within/d.txt"]
    assert [text for _, text in pipe.open_files().read_from_stream(4)] == [
        "a.tx",
        "t",
        "b.tx",
        "t",
        "with",
        "in/d",
        ".txt",
    ]
    with pytest.raises(ValueError, match="doesn't take an encoding"):
        pipe.open_files("rb", encoding="utf8")


def test_functions_must_take_their_columns_and_errors_say_whose_they_are() -> None:
    pipe = IterableWrapper([(1, 2)])
    with pytest.raises(ValueError, match="2 positional parameters, but 1 are required"):
        pipe.filter(lambda a, b: a < b, input_col=0)
    assert list(pipe.filter(lambda a, b: a < b, input_col=[0, 1])) == [(1, 2)]
    with pytest.raises(TypeError, match="thrown by __iter__ of MapperIterDataPipe"):
        list(pipe.map(len, input_col=0))
    with pytest.raises(KeyError, match="thrown by __iter__ of MapperIterDataPipe"):
        list(IterableWrapper([5]).map({}.__getitem__))
    source = IterableWrapper([1, 2])
    first = iter(source.map(abs))
    next(first)
    next(iter(source))
    with pytest.raises(RuntimeError, match=r"by multiple references.*`.fork\(\)` if that is necessary\.$"):
        next(first)
