"""A unit: parameters that are gathered for a module's forward and backward, and are shards in between.

Autograd sees whole parameters, which lie in memory that is let go and taken again at the same addresses: what
forward saved is valid when backward has gathered them again. The optimizer sees shards. When the gradients of
all whole parameters have come, they are summed over the ranks, each of which keeps its shard of the sum.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.autograd import hooks
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight.distributed.fsdp.layouts import Layout
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.nn.parameter import Parameter


class Pages:
    """A flat tensor in memory of its own that can be given back to the system; it is zeros then.

    A device's allocator gives no addresses back for later: memory there stays.
    """

    def __init__(self, count: int, like: Tensor) -> None:
        self._map: mmap.mmap | None = None
        if like.device.type != "cpu":
            self.tensor = torch.empty(count, dtype=like.dtype, device=like.device)
            return
        size = max(count, 1) * like.element_size()
        self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.tensor = wrap(np.frombuffer(self._map, like._geometry.dtype)[:count])

    def release(self) -> None:
        """Give the memory back; the addresses stay."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def divisors(ranks: int) -> tuple[float, float]:
    """What gradients are divided by before and after they are summed; sums of float16 stay in range so."""
    before = 1
    while ranks % before == 0 and ranks / before > before:
        before *= 2
    return float(before), ranks / before


def _part(t: Tensor) -> Tensor:
    """What is cut further: of a DTensor, this rank's part."""
    return t.to_local().detach() if isinstance(t, DTensor) else t


class Unit:
    """slots[i]: the places (module, name, path) of params[i]; `names`: their first paths.

    shards: the group over which they are cut; replicas: the group whose ranks hold equal shards, or None.
    param_dtype, reduce_dtype: of whole parameters, and of gradients on their way; None: the parameters' own.
    place: the device that computes, where the shards lie on the CPU.
    """

    def __init__(
        self,
        slots: list[list[tuple[Any, str, str]]],
        params: list[Tensor],
        layout: Callable[..., Layout],
        shards: Any,
        replicas: Any,
        param_dtype: Any = None,
        reduce_dtype: Any = None,
        align: int = 1,
        place: Any = None,
    ) -> None:
        self.slots, self.shards, self.replicas = slots, shards, replicas
        self.names = [places[0][2] for places in slots]
        world = 1 if shards is None else shards.size()
        rank = 0 if shards is None else dist.get_rank(shards)
        if place is not None:
            for p in params:
                if not p.is_meta:  # what is there is given memory later, by to_empty(device="cpu")
                    p.data = p.data.to("cpu")
        self.layout: Layout = layout([tuple(_part(p).shape) for p in params], world, rank, align)
        self.dtype, self.device = params[0].dtype, params[0].device
        self.wanted, self.offloaded = (param_dtype, reduce_dtype), place is not None
        self.place = place or self.device
        self._set_dtypes()
        self.before, self.after = divisors(world * (1 if replicas is None else replicas.size()))
        self.shard = self.layout.shard([_part(p) for p in params], self.dtype)
        self.sharded: list[Tensor] = []  # the Parameters that hold pieces; or one, all of the shard
        self.whole = self._make_whole(params)
        # In the place of what is not there: it has a shape, and no values.
        self.absent = [torch.empty_like(p, device="meta") for p in params]
        self.sync, self.ready = True, self.pages is None
        self.gathering: Any = None
        self.pending: list[tuple[Any, Tensor, list[bool]]] = []
        self.reset()

    def _set_dtypes(self) -> None:
        """Of whole parameters and of gradients: what was asked for, or the parameters' own."""
        self.compute = self.wanted[0] or self.dtype
        self.reduce_dtype = self.wanted[1] or self.compute

    def _make_whole(self, params: list[Tensor]) -> list[Tensor]:
        """The leaves that autograd sees."""
        layout = self.layout
        own = layout.world > 1 or self.compute is not self.dtype or self.place != self.device
        count = layout.begins[-1] if layout.rows else layout.world * layout.size
        self.pages = Pages(count, torch.empty(0, dtype=self.compute, device=self.place)) if own else None
        memory = self.pages.tensor if self.pages else self.shard
        made: list[Tensor] = []
        for number, p in enumerate(params):
            begin = layout.begins[number]
            view = memory[begin : begin + layout.numels[number]].view(layout.shapes[number])
            leaf = Parameter(p._state(wrap(view._memory)), requires_grad=p.requires_grad)
            leaf.__dict__.update(p.__dict__)
            if p.requires_grad:
                hooks.on_node(leaf._grad_node, self._arrived, "post")
            made.append(leaf)
        return made

    def follow(self) -> None:
        """Hold what the modules' sharded parameters have become: moved, cast, or given values."""
        held = self.sharded
        if self.named:
            held = [places[0][0]._parameters[places[0][1]] for places in self.slots]
        kinds = {(p.dtype, p.device) for p in held}
        same = all(p is q for p, q in zip(held, self.sharded, strict=True))
        if any(p.is_meta for p in held) or (same and kinds == {(self.dtype, self.device)}):
            return
        self.dtype, self.device = held[0].dtype, held[0].device
        self._set_dtypes()
        self.place = self.place if self.offloaded and self.device.type == "cpu" else self.device
        self.shard = torch.zeros(self.layout.size, dtype=self.dtype, device=self.device)
        self.sharded = list(held)
        with torch.no_grad():
            for p, piece in zip(held, self.pieces(self.shard), strict=True):
                piece.copy_(_part(p))
                p.data = p._state(piece)
        self.whole = self._make_whole(self.whole)
        self.absent = [torch.empty_like(p, dtype=self.dtype) for p in self.absent]
        self.ready = self.pages is None
        self.show_shards()

    def pieces(self, shard: Tensor) -> list[Tensor]:
        """What of a shard each of the sharded parameters holds."""
        return self.layout.pieces(shard) if self.named else [shard]

    # --- the modules' attributes ------------------------------------------------------------------

    named = True  # whether the shards are the modules' parameters, each under its own name

    def show_whole(self, registered: bool = False) -> None:
        """Modules compute with whole parameters; `registered`: these are their parameters also by name."""
        for leaf, places in zip(self.whole, self.slots, strict=True):
            for module, name, _ in places:
                if self.named or registered:
                    module._parameters[name] = leaf
                else:
                    module.__dict__[name] = leaf

    def show_shards(self) -> None:
        """Modules show the shards, as optimizers and state dicts see them."""
        for number, places in enumerate(self.slots):
            for module, name, _ in places:
                if self.named:
                    module._parameters[name] = self.sharded[number]
                else:
                    module._parameters.pop(name, None)
                    module.__dict__[name] = self.absent[number]

    # --- gathering --------------------------------------------------------------------------------

    def gather(self) -> None:
        """Begin to gather the parameters."""
        if self.ready or self.gathering is not None:
            return
        with torch.no_grad():
            mine = self.shard.to(self.place, self.compute)
            if self.layout.rows or self.layout.world == 1:
                out = mine.new_empty(self.layout.world * self.layout.size)
            else:
                out = self._memory()
            work = None
            if self.layout.world == 1:
                out.copy_(mine)
            else:
                work = dist.all_gather_into_tensor(out, mine, group=self.shards, async_op=True)
        self.gathering = work, out, mine

    def unshard(self) -> None:
        """Have the whole parameters in memory."""
        self.gather()
        if self.gathering is None:
            return
        work, out, _ = self.gathering
        if work is not None:
            work.wait()
        memory = self._memory()
        if out is not memory:
            with torch.no_grad():
                for begin, count, t in zip(self.layout.begins, self.layout.numels, self.layout.spread(out)):
                    memory[begin : begin + count].view(t.shape).copy_(t)
        self.gathering, self.ready = None, True

    def _memory(self) -> Tensor:
        """Where the whole parameters lie."""
        if self.pages is None:
            raise RuntimeError("this unit has no memory for whole parameters: they have been let go of")
        return self.pages.tensor

    def release(self) -> None:
        """Let go of the whole parameters."""
        if self.gathering is not None:
            self.unshard()
        if self.pages is not None and self.ready:
            self.pages.release()
            self.ready = False

    def write_back(self) -> None:
        """Make the whole parameters' values the shards'."""
        if self.pages is not None:
            with torch.no_grad():
                self.shard.copy_(self.layout.shard([_part(p) for p in self.whole], self.dtype))

    def gathered(self, shard: Tensor) -> list[Tensor]:
        """Whole tensors of anything that is cut as the parameters are; collective."""
        if self.layout.world == 1:
            return self.layout.spread(shard.clone())
        mine = shard.contiguous().to(self.place)
        out = mine.new_empty(self.layout.world * self.layout.size)
        dist.all_gather_into_tensor(out, mine, group=self.shards)
        return self.layout.spread(out.to(shard.device))

    # --- gradients --------------------------------------------------------------------------------

    def reset(self) -> None:
        """Before a backward."""
        self.arrived = self.expected = self.inputs = self.taken = 0
        self.met = self.reduced = False

    def _arrived(self, *_: Any) -> None:
        if self.arrived == 0:
            reached = hooks._runs.stack[-1].reached()
            self.expected = sum(leaf._grad_node in reached for leaf in self.whole)
        self.arrived += 1
        if self.arrived == self.expected:
            self.arrived = 0
            self.reduce()
            self.release_early()

    def input_arrived(self) -> None:
        """The gradient of one of the module's inputs is complete."""
        self.inputs -= 1
        self.release_early()

    def release_early(self) -> None:
        """Let go before the end of backward, where nothing can need the parameters any more."""
        trains = any(leaf.requires_grad for leaf in self.whole)
        if self.met and self.taken and self.inputs == 0 and (self.reduced or not trains):
            self.show_shards()
            self.release()

    def reduce(self) -> None:
        """Begin to sum the gradients over the ranks, unless they are only to be accumulated."""
        self.reduced = True
        grads = [None if leaf.grad is None else _part(leaf.grad) for leaf in self.whole]
        if not self.sync or all(g is None for g in grads):
            return
        with torch.no_grad():
            buffer = self.layout.collect(grads, self.reduce_dtype).div_(self.before)
            work, out = None, buffer
            if self.layout.world > 1:
                out = buffer.new_empty(self.layout.size)
                work = dist.reduce_scatter_tensor(out, buffer, group=self.shards, async_op=True)
            elif self.replicas is not None:
                work = dist.all_reduce(out, group=self.replicas, async_op=True)
        for leaf in self.whole:
            leaf.grad = None
        self.pending.append((work, out, [g is not None for g in grads]))

    def finish(self) -> None:
        """Give the sums to the sharded parameters."""
        for work, out, had in self.pending:
            if work is not None:
                work.wait()
            if self.layout.world > 1 and self.replicas is not None:
                dist.all_reduce(out, group=self.replicas)
            with torch.no_grad():
                self._give(out.div_(self.after).to(self.device, self.dtype), had)
        self.pending = []

    def _give(self, grad: Tensor, had: list[bool]) -> None:
        for p, piece, given in zip(
            self.sharded, self.pieces(grad), had if self.named else [True], strict=True
        ):
            if not given or not (piece.numel() or self.layout.rows):
                continue
            if p.grad is None:
                p.grad = p._state(piece) if self.layout.rows else piece
            else:
                p.grad.add_(p._state(piece) if self.layout.rows else piece)


def reduce_all(units: list[Unit]) -> None:
    """Sum what gradients units still have over the ranks, wait for all sums, and let go of what is whole."""
    for unit in units:
        unit.reduce()
    for unit in units:
        unit.finish()
        unit.show_shards()
        unit.release()
        unit.reset()
