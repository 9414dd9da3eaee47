"""Process groups: who belongs to them, and starting and ending the world of all ranks."""

from __future__ import annotations

import atexit
import threading
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NewType, TypeVar

from rushlight._engine.core.callers import warn
from rushlight._engine.core.device import device
from rushlight._engine.core.profiling_ranges import SPANS, beside
from rushlight.distributed.backends import (
    Backend,
    _DistributedBackendOptions,
    checked_backend,
    registered,
    served_by_nccl,
)
from rushlight.distributed.communication import heard
from rushlight.distributed.communication.group_methods import GroupMethods
from rushlight.distributed.communication.operation_queue import Operation, OperationQueue, Steps, Transfers
from rushlight.distributed.communication.wire import INSTALL, FakeWire, SoloWire, installed, start_mpi
from rushlight.distributed.communication.work import Work
from rushlight.distributed.hub.watch import Watch
from rushlight.distributed.rendezvous import default_pg_timeout, meet, rendezvous
from rushlight.distributed.stores import HashStore, PrefixStore, Store

if TYPE_CHECKING:  # for annotations alone
    from rushlight.distributed.communication.foreign import Foreign
    from rushlight.distributed.communication.nccl import Nccl

GroupName = NewType("GroupName", str)
_Made = TypeVar("_Made")
LINGER = 3.0  # seconds for which a rank that ends waits for the others to read what it has sent


class ProcessGroup(GroupMethods):
    """Some of the ranks, and the operations among them.

    A class of a program's own, ProcessGroup(rank, size) or (store, rank, size), overrides the methods that it
    has: allreduce(tensors, options), broadcast, allgather and so on, which answer with a Work. The functions
    of torch.distributed call them, on groups of it and where init_process_group() is given its backend.
    """

    _own = True  # whether the operations are those here

    def __init_subclass__(cls, own: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own = own

    def __init__(self, *place: Any) -> None:
        *stores, rank, size = place
        store = stores[0] if stores else HashStore()
        wire: SoloWire = FakeWire(rank, size)
        if not self._own:
            from rushlight.distributed.communication.foreign import ForeignWire  # it imports Tensor

            wire = ForeignWire(rank, size)
        self._become(
            "", "undefined", list(range(size)), wire, Watch(), default_pg_timeout, "undefined", store
        )

    @classmethod
    def _made(cls, *arguments: Any) -> ProcessGroup:
        """One whose operations are those here."""
        made = cls.__new__(cls)
        made._become(*arguments)
        return made

    def _become(
        self,
        name: str,
        desc: str,
        ranks: list[int],
        wire: SoloWire,
        watch: Watch,
        timeout: timedelta,
        backend: str,
        store: Store,
    ) -> None:
        self.group_name, self.group_desc, self.ranks, self.wire = name, desc, ranks, wire
        self.timeout, self.backend, self.store = timeout, backend, store
        self.nccl: Nccl | None = None
        self.foreign: Foreign | None = None
        self.mixed = True  # whether there is something for the CPU's tensors
        self.coalesced: list[Any] | None = None  # calls that are collected (coalescing.py)
        if not self._own:
            self._serve_themselves(wire)
        elif (by := served_by_nccl(backend)) is not None:
            from rushlight.distributed.communication.nccl import Nccl, NcclWire  # real devices alone need it

            self.nccl, self.mixed = Nccl(self), by == "both"
            if isinstance(wire, NcclWire):
                wire.owner = self.nccl
        self.queue = OperationQueue(name, ranks, watch, timeout.total_seconds())
        self.transfers = Transfers(f"{name} transfers", ranks, watch, timeout.total_seconds())

    def _serve_themselves(self, wire: Any) -> None:
        from rushlight.distributed.communication.foreign import Foreign  # it imports Tensor

        self.foreign = wire.owner = Foreign(self)

    def rank(self) -> int:
        """This process's rank in the group."""
        return self.wire.rank

    def size(self) -> int:
        """How many ranks it has."""
        return self.wire.size

    def name(self) -> str:
        """The backend's name."""
        told = getattr(self, "getBackendName", None)  # of a program's own class
        if told is not None:
            return str(told())
        if self.nccl is not None:
            return Backend.NCCL
        return Backend.GLOO if self.backend in ("undefined", "cpu:gloo") else self.backend

    def served_by(self, *tensors: Any) -> Nccl | Foreign | None:
        """NCCL or the program's own class, if it is what moves these tensors; None: the wire is.

        RuntimeError where nothing does.
        """
        if self.nccl is None:
            return self.foreign
        if not tensors or tensors[0].is_cuda:
            return self.nccl
        if self.mixed:
            return None
        raise RuntimeError(f"No backend type associated with device type {tensors[0].device.type}")

    def close(self) -> None:
        """End its operations."""
        if self.nccl is not None:
            self.nccl.close()
        self.queue.close()

    def profiled(self, name: str, note: Any) -> Callable[[], None] | None:
        """What tells profilers the end of an operation that begins now; None: there are none."""
        if not SPANS:
            return None
        return beside(f"{self.name()}:{name}", note.shapes() if hasattr(note, "shapes") else [])

    def begin(
        self,
        name: str,
        steps: Steps,
        note: Callable[[], str],
        result: list[Any],
        async_op: bool,
        timeout: timedelta | None = None,
    ) -> Work | None:
        """Enter an operation; its Work if it is to go on in the background, else None when it is over."""
        if heard.LISTENERS:
            heard.tell(name)
        operation = self.queue.submit(name, steps, note, async_op, timeout, self.profiled(name, note))
        if async_op:
            return Work(operation, result)
        self.queue.finish(operation)
        if operation.error is not None:
            raise operation.error
        return None


class _World:
    """What this process knows of the world: its groups, by name. `default` is that of all ranks."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.watch = Watch()
        self.made = 0  # groups that all ranks have heard of: the next one's name
        self.begun = 0  # how often init_process_group was called

    @property
    def default_pg(self) -> ProcessGroup | None:
        """The group of all ranks."""
        return self.default

    @property
    def pg_map(self) -> dict[ProcessGroup, tuple[str, Any]]:
        """For each group the name of its backend, and its store."""
        return {g: (g.backend, g.store) for g in self.groups.values()}

    @property
    def pg_names(self) -> dict[ProcessGroup, str]:
        """The groups' names."""
        return {g: name for name, g in self.groups.items()}

    @property
    def pg_group_ranks(self) -> dict[ProcessGroup, dict[int, int]]:
        """For each group, which of its ranks a rank of the world is."""
        return {g: {rank: place for place, rank in enumerate(g.ranks)} for g in self.groups.values()}

    @property
    def group_count(self) -> int:
        """How many groups were made: the next one's name. Programs set it."""
        return self.made

    @group_count.setter
    def group_count(self, count: int) -> None:
        self.made = count

    def place(self) -> str:
        """What this rank is in the middle of, for others that wait for it."""
        places = []
        for group in list(self.groups.values()):
            running: Operation | None = group.queue.current
            doing = f"in {running}" if running is not None else f"after {group.queue.last}"
            places.append(f"group {group.group_name!r}: {doing}")
        return "; ".join(places) or "in no group"


world = _World()


class _Group(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all ranks; None before init_process_group()."""
        return world.default

    @WORLD.setter
    def WORLD(cls, pg: ProcessGroup | None) -> None:
        world.default = pg


class group(metaclass=_Group):
    """`group.WORLD`: the group of all ranks."""


class GroupMember(metaclass=_Group):
    """`WORLD` is the group of all ranks; NON_GROUP_MEMBER stands for a group that this rank is not in."""

    NON_GROUP_MEMBER: Any = -100


def is_initialized() -> bool:
    """Whether init_process_group() has been called."""
    return world.default is not None


def default_group(what: ProcessGroup | None = None) -> ProcessGroup:
    """The group that an argument `group=` means; ValueError before init_process_group().

    Of a process outside of a group it is GroupMember.NON_GROUP_MEMBER, a number, which `member` asks for.
    """
    if what is not None:
        return what
    if world.default is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return world.default


def set_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    """How long operations of a group, of all ranks by default, may take from now on.

    Errors: ValueError outside of the group; TypeError for what is no timedelta.
    """
    found = default_group(group)
    if not isinstance(found, ProcessGroup):
        raise ValueError("Invalid process group specified")
    found.timeout = checked_timeout(timeout)
    found.queue.timeout = found.transfers.timeout = found.timeout.total_seconds()


def checked_timeout(timeout: timedelta | None) -> timedelta:
    """The timeout, 30 minutes by default; TypeError for what is no timedelta."""
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Join the world of all ranks.

    backend: "gloo", "mpi" or "cpu:gloo", which all mean MPI; "nccl", of CUDA devices; "cpu:gloo,cuda:nccl";
    None: NCCL where there are real CUDA devices, else MPI. device_id: the device whose communicator is made
    at once. Ranks meet by `init_method`
    ("env://" by default, "tcp://host:port", "file:///path") or by a `store`, with rank and world_size.
    timeout: of operations, 30 minutes by default. One rank alone needs no further packages; more need MPICH.
    Raises ValueError where rank, size or address are missing, DistBackendError where ranks do not come or
    do not agree, ModuleNotFoundError without MPI's packages.
    """
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    limit = checked_timeout(timeout)
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and world_size <= 0:
        raise AssertionError("world_size must be positive if using store")
    if store is not None and rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    name = checked_backend(backend)
    if store is None and name == "fake" and init_method is None:
        store = HashStore()  # ranks that nobody is meet nowhere
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=limit))
        store.set_timeout(limit)
    store = PrefixStore(f"default_pg/{world.begun}", store)
    ranks = list(range(world_size))
    maker = registered(name)
    if maker is not None:
        world.watch = Watch()
        world.default = _of_another(maker, "0", "default_pg", ranks, rank, limit, name, store, pg_options)
    else:
        wire, world.watch = join(store, rank, world_size, limit, name)
        world.default = ProcessGroup._made("0", "default_pg", ranks, wire, world.watch, limit, name, store)
    world.begun += 1
    world.made = 1
    world.groups["0"] = world.default
    if world.default.nccl is not None and device_id is not None:
        found = device(device_id) if not isinstance(device_id, int) else device("cuda", device_id)
        world.default.nccl.communicator(world.default.nccl.device(found.index))
    world.watch.place = world.place


def _of_another(
    maker: Any,
    name: str,
    desc: str,
    ranks: list[int],
    rank: int,
    timeout: timedelta,
    backend: str,
    store: Store,
    pg_options: Any,
) -> ProcessGroup:
    """A group that a registered function makes; rank: this one's place in `ranks`. TypeError for no group."""
    if maker.extended_api:
        asked = _DistributedBackendOptions(store, rank, len(ranks), timeout, name, ranks)
        made = maker.creator_fn(asked, pg_options)
    else:
        made = maker.creator_fn(store, rank, len(ranks), timeout)
    if not isinstance(made, ProcessGroup):
        raise TypeError(
            f"the backend {backend!r} made a {type(made).__name__}: expected an instance of a class derived "
            "from torch.distributed.ProcessGroup"
        )
    made.group_name, made.group_desc, made.ranks = name, desc, ranks
    made.timeout, made.backend, made.store = timeout, backend, store
    return made


def join(store: Store, rank: int, size: int, timeout: timedelta, backend: str) -> tuple[SoloWire, Watch]:
    """Meet the others and start MPI, but where NCCL does everything; the wire of all ranks, and what this
    rank knows of them.
    """
    watch = Watch()
    if backend == Backend.FAKE:
        watch.rank = rank
        return FakeWire(rank, size), watch
    alone = served_by_nccl(backend) == "alone"
    if size == 1:
        watch.rank = 0
        return (_nccl_wire(0, 1) if alone else SoloWire()), watch
    if not alone and not installed():
        raise ModuleNotFoundError(f"init_process_group: world size is {size}. {INSTALL}", name="mpi4py")
    host, port, job = meet(store, rank, size, timeout)
    watch.enter(host, port, job, rank, size, timeout.total_seconds())
    wire = _nccl_wire(rank, size) if alone else start_mpi(host, port, job, rank, size)
    watch.begin()
    if world.begun == 0:
        atexit.register(_end, wire)
    return wire, watch


def _nccl_wire(rank: int, size: int) -> SoloWire:
    from rushlight.distributed.communication.nccl import NcclWire  # real devices alone need it

    return NcclWire(rank, size)


def _end(wire: SoloWire) -> None:
    _leave()
    if wire.adopted and world.watch.orderly:
        wire.finalize()


def _leave() -> None:
    if world.default is not None and world.default.size() > 1:
        counters = {name: member.queue.number for name, member in world.groups.items()}
        world.watch.leave(counters, LINGER, world.default.wire.poll)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; that of all ranks, the default, ends all of them.

    AssertionError where there is none, ValueError for one that is not known.
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    chosen = group if group is not None else world.default
    if chosen is None:
        raise AssertionError("Process group cannot be None")
    if chosen.group_name not in world.groups:
        raise ValueError("Invalid process group specified")
    if chosen is not world.default:
        chosen.close()
        del world.groups[chosen.group_name]
        return
    for member in world.groups.values():
        if member.nccl is not None:
            member.nccl.settle()  # before others hear that this rank has left
    _leave()
    for member in world.groups.values():
        member.close()
    world.groups.clear()
    world.default, world.made = None, 0


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the ranks; all ranks of the world call this, in the same order.

    With use_local_synchronization only its members do. A rank that is no member gets NON_GROUP_MEMBER.
    """
    everybody = default_group()
    chosen = list(range(everybody.size())) if ranks is None else list(ranks)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    for rank in chosen:
        if not 0 <= rank < everybody.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {everybody.size() - 1} "
                f"(world_size={everybody.size()})"
            )
    if sort_ranks:
        chosen.sort()
    limit = checked_timeout(timeout)
    name = everybody.backend if backend is None else checked_backend(backend)
    if use_local_synchronization:
        called = f"{zlib.crc32(str(chosen).encode()):08x}_{sum(len(n) > 8 for n in world.groups)}"
    else:
        called, world.made = str(world.made), world.made + 1
    if everybody.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    world.groups[called] = _of_some(called, group_desc or "undefined", chosen, limit, name, pg_options)
    return world.groups[called]


def _of_some(
    called: str, desc: str, chosen: list[int], limit: timedelta, backend: str, pg_options: Any
) -> ProcessGroup:
    """The group of some ranks, of which this is one."""
    everybody = default_group()
    store, maker = PrefixStore(called, everybody.store), registered(backend)
    if maker is not None:
        place = chosen.index(everybody.rank())
        return _of_another(maker, called, desc, chosen, place, limit, backend, store, pg_options)
    wire = _patiently(
        lambda: everybody.wire.part(chosen, zlib.crc32(str(chosen).encode()) % 30_000), f"new_group({chosen})"
    )
    return ProcessGroup._made(called, desc, chosen, wire, world.watch, limit, backend, store)


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """This rank's part of a group that is cut into several: `split_ranks` names the parts by ranks of the
    group.

    All ranks of the group call it, with the same parts. A rank in none of them gets NON_GROUP_MEMBER. The
    order in a part is that of its ranks. pg_options: accepted. ValueError for no or empty parts, or ranks
    that are there twice.
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = default_group(parent_pg)
    if parent is GroupMember.NON_GROUP_MEMBER or default_group().rank() not in parent.ranks:
        raise ValueError(f"Global rank {default_group().rank()} is not part of the parent group {parent}")
    mine = None
    for part in split_ranks:
        if not part:
            raise ValueError("the split group cannot be empty")
        if len(part) > default_group().size():
            raise ValueError(
                "the split group's size should be less or equal to the world_size set by init_process_group"
            )
        if len(part) != len(set(part)):
            raise ValueError("the split group cannot have duplicate ranks")
        if parent.rank() in part:
            mine = part
            break
    made = None
    if parent.nccl is not None:
        colour = -1 if mine is None else split_ranks.index(mine)
        made = parent.nccl.split(colour, mine.index(parent.rank()) if mine else 0, len(mine or ()))
    if mine is None:
        return GroupMember.NON_GROUP_MEMBER
    group = new_group(
        [get_global_rank(parent, rank) for rank in mine],
        timeout,
        backend or parent.backend,
        use_local_synchronization=True,
        group_desc=group_desc or f"{parent.group_desc}:split",
        sort_ranks=False,
    )
    if group.nccl is not None:
        group.nccl.take(made)
    return group


def _patiently(call: Callable[[], _Made], what: str) -> _Made:
    """Do what blocks within MPI on a thread, which is left behind if a rank fails meanwhile."""
    made: list[_Made | BaseException] = []

    def work() -> None:
        try:
            made.append(call())
        except BaseException as error:
            made.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while not made:
        thread.join(0.002)
        if world.watch.news and not made:
            world.watch.check(what, "0", 0, [])
    if isinstance(made[0], BaseException):
        raise made[0]
    return made[0]


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours; (this rank's own, all of them). ValueError where they do not fit."""
    if group_size is None:
        raise ValueError(
            "Default group size only takes effect when CUDA is available. If your subgroup uses "
            "a backend that does not depend on CUDA, please pass in 'group_size' correctly."
        )
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    ranks = get_process_group_ranks(default_group(group))
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by '{group_size=}'")
    parts = [ranks[at : at + group_size] for at in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the ranks given; (this rank's own or None, all of them). ValueError where two overlap."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    subgroups, mine, seen = [], None, dict[int, Sequence[int]]()
    for ranks in ranks_per_subgroup_list:
        subgroups.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
        if get_rank() in ranks:
            mine = subgroups[-1]
    return mine, subgroups


def member(group: ProcessGroup | None, name: str) -> ProcessGroup | None:
    """The group that `group=` means, or None, with PyTorch's warning, where this rank is not in it."""
    if group != GroupMember.NON_GROUP_MEMBER:
        return default_group(group)
    rank = -1 if world.default is None else world.default.rank()
    warn(f"Running {name} on global rank {rank} which does not belong to the given group.")
    return None


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in the group (of all, by default); -1 where it is not in it."""
    everybody = default_group()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else (group or everybody).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many ranks the group has (that of all, by default); -1 where this rank is not in it."""
    everybody = default_group()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else (group or everybody).size()


def get_pg_count() -> int:
    """How many groups this process is in."""
    return len(world.groups)


def get_backend(group: ProcessGroup | None = None) -> Any:
    """The name that the group's backend was given."""
    return Backend(default_group(group).backend)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Which device has which backend: "cpu:gloo"."""
    name = default_group(group).name()
    return name if ":" in name else f"cpu:{name}"


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in the world of the group's members, in its order."""
    return list(default_group(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in the group of a rank of the world; ValueError for one that is not in it."""
    if group == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    if group is world.default:
        return global_rank
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a rank of the group; ValueError for one that there is not."""
    if group is world.default:
        return group_rank
    if not 0 <= group_rank < len(group.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]
