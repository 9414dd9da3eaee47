"""Test cases of several ranks, as processes and as threads, written with PyTorch's helpers."""

import copy
import io
import sys
import unittest

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.common_distributed import (
    MultiProcContinuousTest,
    MultiProcessTestCase,
    MultiThreadedTestCase,
    requires_gloo,
    skip_if_lt_x_gpu,
    spawn_threads_and_init_comms,
)
from torch.testing._internal.common_fsdp import MLP, FSDPTest, check_sharded_parity
from torch.testing._internal.common_utils import TestCase
from torch.testing._internal.distributed._tensor.common_dtensor import (
    DTensorOpTestBase,
    DTensorTestBase,
    ModelArgs,
    Transformer,
    with_comms,
)


class Processes(MultiProcessTestCase):
    @property
    def world_size(self):
        return 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    @requires_gloo()
    def test_passes(self):
        dist.init_process_group(
            "gloo", init_method=f"file://{self.file_name}", rank=self.rank, world_size=self.world_size
        )
        x = torch.tensor([self.rank + 1.0])
        dist.all_reduce(x)
        self.assertEqual(x, torch.tensor([3.0]))

    def test_fails(self):
        self.assertEqual(self.rank, 0)

    def test_ends(self):
        sys.exit(self.TEST_ERROR_EXIT_CODE)

    @skip_if_lt_x_gpu(8)
    def test_skips(self):
        raise AssertionError("not skipped")


class Continuous(MultiProcContinuousTest):
    world_size = 2

    @classmethod
    def backend_str(cls):
        return "gloo"

    def test_1(self):
        gathered = [None, None]
        dist.all_gather_object(gathered, self.rank)
        self.assertEqual(gathered, [0, 1])

    def test_2(self):
        self.test_1()


class Threads(MultiThreadedTestCase):
    @property
    def world_size(self):
        return 3

    def setUp(self):
        super().setUp()
        self._spawn_threads()

    def test_passes(self):
        size, rank = self.world_size, self.rank
        half = torch.full((5,), rank + 0.5, dtype=torch.bfloat16)
        dist.all_reduce(half)
        self.assertEqual(half, torch.full((5,), 4.5, dtype=torch.bfloat16))
        sent = torch.arange(size, dtype=torch.int64) + 10 * rank
        got = torch.empty_like(sent)
        dist.all_to_all_single(got, sent)
        self.assertEqual(got, torch.arange(size) * 10 + rank)
        part = torch.empty(2)
        dist.reduce_scatter_tensor(part, torch.ones(2 * size), op=dist.ReduceOp.AVG)
        self.assertEqual(part, torch.ones(2))
        pair = dist.new_group([0, 2])
        if rank != 1:
            x = torch.tensor(rank)
            dist.broadcast(x, 2, group=pair)
            self.assertEqual(x, 2)
        if rank == 0:
            dist.send(torch.ones(2), 1)
        elif rank == 1:
            dist.recv(got := torch.zeros(2))
            self.assertEqual(got, torch.ones(2))
        listed = [torch.empty(1) for _ in range(size)] if rank == 1 else None
        dist.gather(torch.tensor([float(rank)]), listed, dst=1)
        dist.scatter(into := torch.empty(1), listed, src=1)
        self.assertEqual(into, torch.tensor([float(rank)]))

    def perThreadSetUp(self):
        if "unready" in self.id():
            raise ValueError("not ready")

    def test_unready(self):
        pass

    def test_fails(self):
        if self.rank == 1:
            raise ValueError("a rank's own")
        dist.barrier()

    @skip_if_lt_x_gpu(8)
    def test_skips(self):
        raise AssertionError("not skipped")


class Decorated(TestCase):
    @spawn_threads_and_init_comms(world_size=2)
    def test_size(self):
        self.assertEqual(dist.get_world_size(), 2)


class Cut(DTensorTestBase):
    @property
    def world_size(self):
        return 2

    @with_comms
    def test_op(self):
        self._test_op(self.build_device_mesh(), torch.add, torch.ones(4, 3), torch.arange(3.0))


class Models(DTensorOpTestBase):
    @property
    def world_size(self):
        return 2

    @with_comms
    def test_transformer(self):
        mesh = self.build_device_mesh()
        for sequence in (True, False):
            whole = Transformer(ModelArgs(dropout_p=0.0)).to(self.device_type)
            for p in whole.parameters():
                dist.broadcast(p.data, 0)
            cut = Transformer.parallelize(copy.deepcopy(whole), mesh, sequence)
            tokens = torch.arange(16, device=self.device_type).view(2, 8) % 8
            self.assertEqual(cut(tokens), whole(tokens), atol=1e-5, rtol=1e-4)


class Shards(FSDPTest):
    @property
    def world_size(self):
        return 2

    @skip_if_lt_x_gpu(2)
    def test_fully_shard(self):
        cut = MLP(8, device="cuda")
        whole = copy.deepcopy(cut)
        fully_shard(cut)
        for model in (cut, whole):
            model(torch.ones(2, 8, device="cuda")).sum().backward()
        check_sharded_parity(self, whole, cut)


if __name__ == "__main__":
    told = unittest.TextTestRunner(io.StringIO()).run(
        unittest.defaultTestLoader.loadTestsFromModule(__import__("__main__"))
    )
    for kind, what in (("failed", told.failures + told.errors), ("skipped", told.skipped)):
        print(
            kind,
            *sorted(f"{test.id().partition('.')[2]}: {text.strip().splitlines()[-1]}" for test, text in what),
            sep="\n  ",
        )
    print("run", told.testsRun)
