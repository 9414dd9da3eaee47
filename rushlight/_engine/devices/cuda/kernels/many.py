"""The text of updates of many tensors in one launch: a block has a chunk of one of them."""

from __future__ import annotations

from functools import lru_cache

from rushlight._engine.devices.cuda.kernels.targets import TARGETS, Thread
from rushlight._engine.devices.cuda.kernels.writing import ThreadBody, from_bits, strided
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import item_size, load, result, store

# Elements that a block takes of a tensor.
CHUNK = 4096


@lru_cache(maxsize=256)
def updates(
    meaning: Meaning,
    scalars: tuple[str, ...],
    targets: tuple[int, ...],
    tensors: int,
    kept: bool,
    target: str,
) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) of a meaning over `tensors` lists of arrays, each of one dense
    layout.

    scalars: the inputs that are numbers, handed over by their bits; kept: they lie in an array of the
    device's, the last pointer, which each replay of a graph fills.  targets: which inputs outputs overwrite.
    Pointers: the arrays of each tensor. Numbers: blocks in all, for each tensor its elements and its first
    block, the bits. A grid's blocks stride over them.
    """
    inputs = [(name, d) for name, d in meaning.inputs if name not in scalars]
    pointers = [f"p{t}_{k}" for t in range(tensors) for k in range(len(inputs))]
    numbers = ["blocks", *[f"{name}{t}" for t in range(tensors) for name in ("n", "b")]]
    pointers += ["x"] * kept
    numbers += [f"x_{name}" for name in scalars if not kept]
    module, types = Module(fma=True), meaning.types()
    f: Thread = TARGETS[target](module, "kernel", pointers, numbers)
    f.begin()
    me, threads = f.special("tid"), f.special("ntid")
    own, step = f.special("ctaid"), f.special("nctaid")
    nodes = {x.arg: x for x in types if x.op == "in"}
    body = ThreadBody(f, meaning, types)
    for name, d in meaning.inputs:
        if name in scalars and name in nodes:
            at = scalars.index(name)
            value = load(f, f.at("%x", 8 * at), d) if kept else from_bits(f, f"%x_{name}", d)
            body.give(nodes[name], value, True)
    f.mark_early()
    with strided(f, own, step, "%blocks") as block:
        bases, begin, end = _chunk(f, block, tensors, len(inputs))
        with strided(f, f.i64("add", begin, me), threads, end) as i:
            places = [
                f.at(base, f.i64("mul", i, item_size(d))) for base, (_, d) in zip(bases, inputs, strict=True)
            ]
            for place, (name, d) in zip(places, inputs, strict=True):
                if name in nodes:
                    body.give(nodes[name], load(f, place, d))
            body.compute(meaning.outputs)
            for k, root, d in zip(targets, meaning.outputs, meaning.out_dtypes, strict=True):
                store(f, result(body, root, d), places[k], d)
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers


def _chunk(f: Thread, block: str, tensors: int, arrays: int) -> tuple[list[str], str, str]:
    """(a block's arrays, its first element, the one behind its last)."""
    places = [f.var(f"%p0_{k}", "ptr") for k in range(arrays)]
    count, start = f.var("%n0"), f.var(f.i64("mul", block, CHUNK))
    for t in range(1, tensors):
        with f.when(f.i64("icmp sge", block, f"%b{t}")):
            for k, place in enumerate(places):
                place.set(f"%p{t}_{k}")
            count.set(f"%n{t}")
            start.set(f.i64("mul", f.i64("sub", block, f"%b{t}"), CHUNK))
    n, begin = count.get(), start.get()
    end = f.i64("add", begin, CHUNK)
    end = f.op(f"select i1 {f.i64('icmp slt', end, n)}, i64 {end}, i64 {n}")
    return [place.get() for place in places], begin, end
