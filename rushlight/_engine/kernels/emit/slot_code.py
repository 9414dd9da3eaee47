"""Machine code of builtins that fill and read the slots of Python objects (tensors/slots.py).

`slots` names the byte offsets of an object's slots. A builtin's `self` is a tuple of what it needs beside its
arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.emit.python_builtins import called, data
from rushlight._engine.kernels.runtime.abi import ARRAY_BASE, ARRAY_FIELDS, ARRAY_STRIDES

_POINTER = 8
# Of an object: where its class stands.
_CLASS = 8


def _begin(module: Module, name: str) -> Function:
    return Function(module, f"define ptr @{name}(ptr %self, ptr %args, i64 %n)")


def _given(f: Function, count: int) -> list[str]:
    return [f.load("ptr", "%args", _POINTER * k) for k in range(count)]


def _own(f: Function, k: int) -> str:
    """What stands at a place in `self`."""
    return called(f, "PyTuple_GetItem", "ptr", "ptr %self", f"i64 {k}")


def _null(f: Function, pointer: str) -> str:
    return f.op(f"icmp eq ptr {pointer}, null")


def _fail_if(f: Function, condition: str, drop: str = "") -> None:
    """Let go of an object and give NULL: an exception is set."""
    with f.when(condition):
        if drop:
            called(f, "Py_DecRef", "void", f"ptr {drop}")
        f.emit("ret ptr null")
        f.start(f.fresh("never"))


def _set(f: Function, place: str, offset: int, value: str) -> None:
    """Fill an empty slot."""
    called(f, "Py_IncRef", "void", f"ptr {value}")
    f.store("ptr", value, place, offset)


def _instead(f: Function, place: str) -> None:
    """Ask the function at self[1], where the first argument is no instance of the class at self[0]."""
    cls = f.load("ptr", place, _CLASS)
    known = called(f, "PyType_IsSubtype", "i32", f"ptr {cls}", f"ptr {_own(f, 0)}")
    _ask_if(f, f.op(f"icmp eq i32 {known}, 0"))


def _ask_if(f: Function, condition: str) -> None:
    with f.when(condition):
        asked = called(f, "PyObject_Vectorcall", "ptr", f"ptr {_own(f, 1)}", "ptr %args", "i64 1", "ptr null")
        f.emit(f"ret ptr {asked}")
        f.start(f.fresh("never"))


def _all_of(f: Function, k: int, *given: str) -> None:
    """Give what the function at a place in `self` gives of all arguments."""
    f.emit(f"ret ptr {called(f, 'PyObject_Vectorcall', 'ptr', f'ptr {_own(f, k)}', *given, 'ptr null')}")


def write_in_order(module: Module, name: str, several: bool) -> None:
    """laid(array, ...): self[0](array, ...), which lays a result out as NumPy does; self[1](array, ...) where
    that may be otherwise than PyTorch does it.

    several: whether two of the arguments may have dims, which are the first two.
    """
    f = _begin(module, name)
    numpys, other = f.fresh("numpys"), f.fresh("other")
    first = f.load("ptr", "%args")
    flags, dims = f.load("i32", first, ARRAY_FIELDS[4]), f.load("i32", first, ARRAY_FIELDS[1])
    f.leave(f.op(f"trunc i32 {flags} to i1"), numpys)  # in C's order
    sizes, steps = f.load("ptr", first, ARRAY_FIELDS[2]), f.load("ptr", first, ARRAY_STRIDES)
    others = steps
    if several:
        second = f.load("ptr", "%args", _POINTER)
        f.leave(f.op(f"icmp ne i32 {dims}, {f.load('i32', second, ARRAY_FIELDS[1])}"), other)
        others = f.load("ptr", second, ARRAY_STRIDES)
    else:  # what NumPy laid out itself has no base
        f.leave(_null(f, f.load("ptr", first, ARRAY_BASE)), numpys)
    with f.loop(f.op(f"sext i32 {dims} to i64")) as i:
        at = f.i64("mul", i, _POINTER)
        f.leave(f.i64("icmp eq", f.load("i64", sizes, at), 1), other)
        step = f.load("i64", steps, at)
        f.leave(f.i64("icmp eq", step, 0), other)
        if several:
            f.leave(f.i64("icmp ne", step, f.load("i64", others, at)), other)
    f.emit(f"br label %{numpys}")
    for k, label in enumerate((numpys, other)):
        f.start(label)
        _all_of(f, k, "ptr %args", "i64 %n")
    f.finish()


def write_reader(module: Module, name: str, offset: int) -> None:
    """read(object): what is in the slot; of an empty one self[1](object)."""
    f = _begin(module, name)
    (place,) = _given(f, 1)
    _instead(f, place)
    value = f.load("ptr", place, offset)
    _ask_if(f, _null(f, value))
    called(f, "Py_IncRef", "void", f"ptr {value}")
    f.emit(f"ret ptr {value}")
    f.finish()


def write_writer(module: Module, name: str, offset: int) -> None:
    """write(object, value): put it into the slot; gives the value."""
    f = _begin(module, name)
    place, value = _given(f, 2)
    _instead(f, place)
    old = f.load("ptr", place, offset)
    _set(f, place, offset, value)
    called(f, "Py_IncRef", "void", f"ptr {value}")
    with f.when(f.op(f"icmp ne ptr {old}, null")):
        called(f, "Py_DecRef", "void", f"ptr {old}")
    f.emit(f"ret ptr {value}")
    f.finish()


def _made(f: Function, cls: str, values: Mapping[int, str], drop: str = "") -> str:
    """An instance with these slots filled, by offset; without memory `drop` is let go, and the call fails."""
    made = called(f, "PyType_GenericAlloc", "ptr", f"ptr {cls}", "i64 0")
    _fail_if(f, _null(f, made), drop)
    for offset, value in values.items():
        _set(f, made, offset, value)
    return made


def write_maker(module: Module, name: str, given: Sequence[int], fixed: Sequence[int]) -> None:
    """make(...): an instance of the class at self[0], its arguments in the slots at `given`, what follows the
    class in `self` in those at `fixed`.
    """
    f = _begin(module, name)
    values = dict(zip(given, _given(f, len(given)), strict=True))
    values |= {offset: _own(f, k) for k, offset in enumerate(fixed, 1)}
    f.emit(f"ret ptr {_made(f, _own(f, 0), values)}")
    f.finish()


def write_shell(module: Module, name: str, slots: Mapping[str, int]) -> None:
    """shell(alive, kind, hidden): an untracked tensor, a weak reference to which is put into the list.

    self: the class, None, 0.
    """
    f = _begin(module, name)
    alive, kind, hidden = _given(f, 3)
    cls, none, zero = (_own(f, k) for k in range(3))
    values = {"_kind": kind, "_grad_node": none, "_output_nr": zero, "_storage": none, "_hidden": hidden}
    made = _made(f, cls, {slots[slot]: value for slot, value in values.items()})
    ref = called(f, "PyWeakref_NewRef", "ptr", f"ptr {made}", "ptr null")
    _fail_if(f, _null(f, ref), made)
    failed = called(f, "PyList_Append", "i32", f"ptr {alive}", f"ptr {ref}")
    called(f, "Py_DecRef", "void", f"ptr {ref}")
    _fail_if(f, f.op(f"icmp ne i32 {failed}, 0"), made)
    f.emit(f"ret ptr {made}")
    f.finish()


@contextmanager
def _is_a(f: Function, thing: str, slot: int) -> Iterator[str]:
    """If an object has one of the class at self[1] in a slot: that."""
    value = f.load("ptr", thing, slot)
    with f.when(f.op(f"icmp ne ptr {value}, null")):
        cls = f.load("ptr", value, _CLASS)
        with f.when(f.op(f"icmp eq ptr {cls}, {_own(f, 1)}")):
            yield value


def write_living(module: Module, name: str, array: int, hidden: int, place: int) -> None:
    """living(refs, found, places): put the tensors that weak references lead to, and that have no array, into
    a list, and their places into another. self: None, the class of what is pending.
    """
    f = _begin(module, name)
    refs, found, places = _given(f, 3)
    dead = f.fresh("dead")
    failed = f.var(0, "i32")
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {refs}")) as i:
        ref = called(f, "PyList_GetItem", "ptr", f"ptr {refs}", f"i64 {i}")
        thing = called(f, "PyObject_CallNoArgs", "ptr", f"ptr {ref}")
        there = f.op(f"icmp ne ptr {thing}, {_own(f, 0)}")
        with f.when(there), f.when(_null(f, f.load("ptr", thing, array))), _is_a(f, thing, hidden) as pending:
            at = f.load("ptr", pending, place)
            failed.set(called(f, "PyList_Append", "i32", f"ptr {found}", f"ptr {thing}"))
            called(f, "PyList_Append", "i32", f"ptr {places}", f"ptr {at}")
        called(f, "Py_DecRef", "void", f"ptr {thing}")
        f.leave(f.op(f"icmp ne i32 {failed.get()}, 0"), dead)
    called(f, "Py_IncRef", "void", f"ptr {found}")
    f.emit(f"ret ptr {found}")
    f.start(dead)
    f.emit("ret ptr null")
    f.finish()


def write_filler(module: Module, name: str, array: int, hidden: int) -> None:
    """fill(tensors, arrays): give tensors that have no arrays theirs, which are no longer pending then."""
    f = _begin(module, name)
    tensors, arrays = _given(f, 2)
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {tensors}")) as i:
        thing, value = (
            called(f, "PyList_GetItem", "ptr", f"ptr {items}", f"i64 {i}") for items in (tensors, arrays)
        )
        with f.when(_null(f, f.load("ptr", thing, array))):
            _set(f, thing, array, value)
            old = f.load("ptr", thing, hidden)
            f.store("ptr", "null", thing, hidden)
            with f.when(f.op(f"icmp ne ptr {old}, null")):
                called(f, "Py_DecRef", "void", f"ptr {old}")
    called(f, "Py_IncRef", "void", f"ptr {tensors}")
    f.emit(f"ret ptr {tensors}")
    f.finish()


def write_recorder(module: Module, name: str, slots: Mapping[str, int], result: int) -> None:
    """record(tensor, class, next, saved): a node of that class, also in the tensor's slot at `result`, which
    holds None.

    self: a function that gives the next node's number, None.
    """
    f = _begin(module, name)
    tensor, cls, following, saved = _given(f, 4)
    number = called(f, "PyObject_CallNoArgs", "ptr", f"ptr {_own(f, 0)}")
    _fail_if(f, _null(f, number))
    values = {"next": following, "hooks": _own(f, 1), "saved": saved}
    made = _made(f, cls, {slots[slot]: value for slot, value in values.items()}, number)
    f.store("ptr", number, made, slots["seq"])
    old = f.load("ptr", tensor, result)
    _set(f, tensor, result, made)
    called(f, "Py_DecRef", "void", f"ptr {old}")
    f.emit(f"ret ptr {made}")
    f.finish()


def write_copies(module: Module, name: str) -> None:
    """copies(arrays): a list of copies of arrays, in C order."""
    f = _begin(module, name)
    (arrays,) = _given(f, 1)
    found, dead = called(f, "PyList_New", "ptr", "i64 0"), f.fresh("dead")
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {arrays}")) as i:
        array = called(f, "PyList_GetItem", "ptr", f"ptr {arrays}", f"i64 {i}")
        copy = called(f, "PyArray_NewCopy", "ptr", f"ptr {array}", "i32 0")
        f.leave(_null(f, copy), dead)
        called(f, "PyList_Append", "i32", f"ptr {found}", f"ptr {copy}")
        called(f, "Py_DecRef", "void", f"ptr {copy}")
    f.emit(f"ret ptr {found}")
    f.start(dead)
    called(f, "Py_DecRef", "void", f"ptr {found}")
    f.emit("ret ptr null")
    f.finish()


def write_bump(module: Module, name: str, offset: int) -> None:
    """bump(things): add self[0] to what is in the slot of each object of a list."""
    f = _begin(module, name)
    (things,) = _given(f, 1)
    dead = f.fresh("dead")
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {things}")) as i:
        thing = called(f, "PyList_GetItem", "ptr", f"ptr {things}", f"i64 {i}")
        old = f.load("ptr", thing, offset)
        new = called(f, "PyNumber_Add", "ptr", f"ptr {old}", f"ptr {_own(f, 0)}")
        f.leave(_null(f, new), dead)
        f.store("ptr", new, thing, offset)
        called(f, "Py_DecRef", "void", f"ptr {old}")
    called(f, "Py_IncRef", "void", f"ptr {things}")
    f.emit(f"ret ptr {things}")
    f.start(dead)
    f.emit("ret ptr null")
    f.finish()


def write_led(module: Module, name: str) -> None:
    """led(refs, places, things): whether each weak reference leads to what a dict has at its place."""
    f = _begin(module, name)
    refs, places, things = _given(f, 3)
    differ = f.fresh("differ")
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {refs}")) as i:
        ref, place = (
            called(f, "PyList_GetItem", "ptr", f"ptr {items}", f"i64 {i}") for items in (refs, places)
        )
        now = called(f, "PyDict_GetItem", "ptr", f"ptr {things}", f"ptr {place}")
        f.leave(_unlike(f, _led(f, ref), now), differ)
    _say(f, differ)


def write_holding(module: Module, name: str) -> None:
    """holding(dicts, keys, values): whether each dict has the very value at its key.

    self: what stands for none.
    """
    f = _begin(module, name)
    dicts, keys, values = _given(f, 3)
    differ = f.fresh("differ")
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {dicts}")) as i:
        items, key, value = (
            called(f, "PyList_GetItem", "ptr", f"ptr {row}", f"i64 {i}") for row in (dicts, keys, values)
        )
        found = called(f, "PyDict_GetItem", "ptr", f"ptr {items}", f"ptr {key}")
        now = f.op(f"select i1 {_null(f, found)}, ptr {_own(f, 0)}, ptr {found}")
        f.leave(_unlike(f, now, value), differ)
    _say(f, differ)


def _say(f: Function, differ: str) -> None:
    """True; False to who leaves for the label."""
    f.emit(f"ret ptr {called(f, 'PyBool_FromLong', 'ptr', 'i64 1')}")
    f.start(differ)
    f.emit(f"ret ptr {called(f, 'PyBool_FromLong', 'ptr', 'i64 0')}")
    f.finish()


# A table of numbers (tensors/watches.py), in slots of eight bytes: how many, one to be stored; the addresses.


def write_equal(module: Module, name: str, bits: int) -> None:
    """equal(table): whether the numbers have the bits of the first."""
    f = _begin(module, name)
    table = data(f, "%args", 0)
    differ = f.fresh("differ")
    kind = f"i{bits}"
    first = f.load(kind, f.load("ptr", table, 2 * _POINTER))
    with f.loop(f.load("i64", table)) as i:
        place = f.load("ptr", f.at(table, f.i64("mul", f.i64("add", i, 2), _POINTER)))
        f.leave(f.op(f"icmp ne {kind} {f.load(kind, place)}, {first}"), differ)
    _say(f, differ)


def write_put(module: Module, name: str, bits: int) -> None:
    """put(table): store it in all of them."""
    f = _begin(module, name)
    table = data(f, "%args", 0)
    kind = f"i{bits}"
    value = f.load(kind, table, _POINTER)
    with f.loop(f.load("i64", table)) as i:
        place = f.load("ptr", f.at(table, f.i64("mul", f.i64("add", i, 2), _POINTER)))
        f.store(kind, value, place)
    f.emit(f"ret ptr {called(f, 'PyBool_FromLong', 'ptr', 'i64 1')}")
    f.finish()


def _unlike(f: Function, a: str, b: str) -> str:
    return f.op(f"icmp ne ptr {a}, {b}")


def _led(f: Function, ref: str) -> str:
    """What a weak reference leads to, to be compared with what lives."""
    thing = called(f, "PyObject_CallNoArgs", "ptr", f"ptr {ref}")
    called(f, "Py_DecRef", "void", f"ptr {thing}")
    return thing


def _number(f: Function, thing: str) -> str:
    return called(f, "PyLong_AsLongLong", "i64", f"ptr {thing}")


def _give(f: Function, value: str, none: str, differ: str) -> None:
    """A value; None to who leaves for the label."""
    called(f, "Py_IncRef", "void", f"ptr {value}")
    f.emit(f"ret ptr {value}")
    f.start(differ)
    called(f, "Py_IncRef", "void", f"ptr {none}")
    f.emit(f"ret ptr {none}")
    f.finish()


def write_come(
    module: Module, name: str, tensor: Mapping[str, int], storage: Mapping[str, int], own: Mapping[str, int]
) -> None:
    """come(entrance, tensor, class, tracked, newest): the tensor's array, if it is what came in there at the
    last pass (entrances.py), is of that class, and has a node or (tracked: None) has none; else None.

    self: None, False.
    """
    f = _begin(module, name)
    entrance, thing, cls, tracked, newest = _given(f, 5)
    none, false = _own(f, 0), _own(f, 1)
    differ, there = f.fresh("differ"), f.fresh("there")
    f.leave(_unlike(f, f.load("ptr", thing, _CLASS), cls), differ)
    without, wanted = (
        f.op(f"icmp eq ptr {value}, {none}")
        for value in (f.load("ptr", thing, tensor["_grad_node"]), tracked)
    )
    f.leave(f.op(f"icmp ne i1 {without}, {wanted}"), differ)
    f.leave(_unlike(f, _led(f, f.load("ptr", entrance, own["tensor"])), thing), differ)
    seen = _number(f, f.load("ptr", entrance, own["seen"]))
    f.leave(f.i64("icmp slt", seen, _number(f, newest)), differ)
    array = f.load("ptr", thing, tensor["_array"])
    f.leave(_null(f, array), differ)
    f.leave(_unlike(f, _led(f, f.load("ptr", entrance, own["array"])), array), differ)
    of = f.load("ptr", thing, tensor["_storage"])
    f.leave(f.op(f"icmp eq ptr {of}, {none}"), there)
    for slot in ("exposed", "foreign"):
        f.leave(_unlike(f, f.load("ptr", of, storage[slot]), false), differ)
    f.emit(f"br label %{there}")
    f.start(there)
    _give(f, array, none, differ)


def write_met(module: Module, name: str, own: Mapping[str, int]) -> None:
    """met(entrances, inputs, arrays, places, roots): note what came in (matching.py)."""
    f = _begin(module, name)
    entrances, inputs, arrays, places, roots = _given(f, 5)
    with f.loop(called(f, "PyList_Size", "i64", f"ptr {entrances}")) as i:
        entrance = called(f, "PyList_GetItem", "ptr", f"ptr {entrances}", f"i64 {i}")
        place, key, known, root = (f.load("ptr", entrance, own[n]) for n in ("place", "key", "known", "root"))
        came = called(f, "PyDict_GetItem", "ptr", f"ptr {inputs}", f"ptr {place}")
        array = called(f, "PyTuple_GetItem", "ptr", f"ptr {came}", "i64 1")
        called(f, "PyDict_SetItem", "i32", f"ptr {arrays}", f"ptr {place}", f"ptr {array}")
        called(f, "PyDict_SetItem", "i32", f"ptr {places}", f"ptr {key}", f"ptr {known}")
        others = f.var(called(f, "PyDict_GetItem", "ptr", f"ptr {roots}", f"ptr {root}"), "ptr")
        with f.when(_null(f, others.get())):
            others.set(called(f, "PyList_New", "ptr", "i64 0"))
            called(f, "PyDict_SetItem", "i32", f"ptr {roots}", f"ptr {root}", f"ptr {others.get()}")
            called(f, "Py_DecRef", "void", f"ptr {others.get()}")
        called(f, "PyList_Append", "i32", f"ptr {others.get()}", f"ptr {place}")
    called(f, "Py_IncRef", "void", f"ptr {roots}")
    f.emit(f"ret ptr {roots}")
    f.finish()


def _version(f: Function, of: str, offset: int, none: str) -> str:
    """The version that a storage has, 0 for None."""
    version = f.var(0)
    with f.when(f.op(f"icmp ne ptr {of}, {none}")):
        version.set(_number(f, f.load("ptr", of, offset)))
    return version.get()


def write_lasts(module: Module, name: str, storage: int, version: int, own: Mapping[str, int]) -> None:
    """lasts(kept): whether that is of the class at self[1], and its tensor has the version that it had.

    self: also None.
    """
    f = _begin(module, name)
    (kept,) = _given(f, 1)
    differ = f.fresh("differ")
    f.leave(_unlike(f, f.load("ptr", kept, _CLASS), _own(f, 1)), differ)
    of = f.load("ptr", f.load("ptr", kept, own["tensor"]), storage)
    now, then = _version(f, of, version, _own(f, 0)), _number(f, f.load("ptr", kept, own["version"]))
    f.leave(f.i64("icmp ne", now, then), differ)
    _say(f, differ)


def write_now(
    module: Module, name: str, storage: int, of_storage: Mapping[str, int], own: Mapping[str, int]
) -> None:
    """now(tensor): a tensor with its version, of the class at self[0]; where that was made in inference mode,
    self[1](tensor) says so. self: also None, 0, False.
    """
    f = _begin(module, name)
    (thing,) = _given(f, 1)
    of, version = f.load("ptr", thing, storage), f.var(_own(f, 3), "ptr")
    with f.when(_unlike(f, of, _own(f, 2))):
        _ask_if(f, _unlike(f, f.load("ptr", of, of_storage["inference"]), _own(f, 4)))
        version.set(f.load("ptr", of, of_storage["version"]))
    values = {own["tensor"]: thing, own["version"]: version.get()}
    f.emit(f"ret ptr {_made(f, _own(f, 0), values)}")
    f.finish()


def write_edges(module: Module, name: str, own: Mapping[str, int]) -> None:
    """edges(node, other, class, class of what it saved): where a node leads to that is the other one, has no
    hooks and these classes; else None. self: None.
    """
    f = _begin(module, name)
    node, other, cls, of_saved = _given(f, 4)
    none, differ = _own(f, 0), f.fresh("differ")
    f.leave(_unlike(f, node, other), differ)
    f.leave(_unlike(f, f.load("ptr", node, _CLASS), cls), differ)
    f.leave(_unlike(f, f.load("ptr", node, own["hooks"]), none), differ)
    saved = f.load("ptr", node, own["saved"])
    f.leave(_null(f, saved), differ)
    f.leave(_unlike(f, f.load("ptr", saved, _CLASS), of_saved), differ)
    following = f.load("ptr", node, own["next"])
    f.leave(_null(f, following), differ)
    _give(f, following, none, differ)


def write_leaf(module: Module, name: str, own: Mapping[str, int], tensor: Mapping[str, int]) -> None:
    """leaf(node, ref, class): the leaf of a node of the class at self[1] without hooks, if it is what the
    weak reference leads to, of that class, tracked, and has no gradient; else None. self: also None.
    """
    f = _begin(module, name)
    node, ref, cls = _given(f, 3)
    none, differ = _own(f, 0), f.fresh("differ")
    f.leave(_unlike(f, f.load("ptr", node, _CLASS), _own(f, 1)), differ)
    f.leave(_unlike(f, f.load("ptr", node, own["hooks"]), none), differ)
    thing = _led(f, ref)
    f.leave(f.op(f"icmp eq ptr {thing}, {none}"), differ)
    f.leave(_unlike(f, _led(f, f.load("ptr", node, own["_leaf"])), thing), differ)
    f.leave(_unlike(f, f.load("ptr", thing, _CLASS), cls), differ)
    f.leave(f.op(f"icmp eq ptr {f.load('ptr', thing, tensor['_grad_node'])}, {none}"), differ)
    grad = f.load("ptr", thing, tensor["_grad"])
    held = f.op(f"and i1 {_unlike(f, grad, none)}, {_unlike(f, grad, 'null')}")
    f.leave(held, differ)
    _give(f, thing, none, differ)


def write_falling(module: Module, name: str, offset: int) -> None:
    """falling(node, ...): whether each node was made before the one in front of it."""
    f = _begin(module, name)
    before, differ = f.var((1 << 63) - 1), f.fresh("differ")
    with f.loop("%n") as i:
        node = f.load("ptr", f.at("%args", f.i64("mul", i, _POINTER)))
        number = _number(f, f.load("ptr", node, offset))
        f.leave(f.i64("icmp sge", number, before.get()), differ)
        before.set(number)
    _say(f, differ)


# A table of words (tensors/watches.py), in slots of eight bytes: how many, None; then for each its address,
# an offset from what stands there (-1 for the address itself, -2 for one that is noted), a mask (0: whether
# it is neither null nor None), and what was there.
_WATCHED = 4


def write_same(module: Module, name: str) -> None:
    """same(table): whether each word is what it was. Those after the first that differs are not read."""
    f = _begin(module, name)
    table = data(f, "%args", 0)
    differ = f.fresh("differ")
    with f.loop(f.load("i64", table)) as i:
        address, offset, mask, was = _watched(f, table, i)
        place = f.var(address, "ptr")
        with f.when(f.i64("icmp sge", offset, 0)):
            place.set(f.at(f.load("ptr", address), offset))
        now = _masked(f, f.load("i64", place.get()), mask, table)
        f.leave(f.i64("icmp ne", now, was), differ)
    _say(f, differ)


def write_note(module: Module, name: str) -> None:
    """note(table): let each word that is to be noted be right as it is now."""
    f = _begin(module, name)
    table = data(f, "%args", 0)
    with f.loop(f.load("i64", table)) as i:
        address, offset, mask, _ = _watched(f, table, i)
        with f.when(f.i64("icmp eq", offset, -2)):
            now = _masked(f, f.load("i64", address), mask, table)
            # What has no number yet is no word to go by.
            none = f.op(f"and i1 {f.i64('icmp eq', now, 0)}, {f.i64('icmp ne', mask, 0)}")
            now = f.op(f"select i1 {none}, i64 -1, i64 {now}")
            f.store("i64", now, f.at(table, f.i64("mul", f.i64("add", i, 1), _WATCHED * _POINTER)), 8)
    f.emit(f"ret ptr {called(f, 'PyBool_FromLong', 'ptr', 'i64 1')}")
    f.finish()


def _watched(f: Function, table: str, i: str) -> tuple[str, str, str, str]:
    row = f.at(f.at(table, 2 * _POINTER), f.i64("mul", i, _WATCHED * _POINTER))
    offset, mask, was = (f.load("i64", row, _POINTER * k) for k in (1, 2, 3))
    return f.load("ptr", row), offset, mask, was


def _masked(f: Function, word: str, mask: str, table: str) -> str:
    none = f.load("i64", table, _POINTER)
    there = f.op(f"and i1 {f.i64('icmp ne', word, 0)}, {f.i64('icmp ne', word, none)}")
    whether = f.op(f"zext i1 {there} to i64")
    return f.op(f"select i1 {f.i64('icmp eq', mask, 0)}, i64 {whether}, i64 {f.i64('and', word, mask)}")
