"""Batches of sequences of different lengths: packed, padded, and between the two."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import rushlight as torch


class _Fields(NamedTuple):
    data: torch.Tensor
    batch_sizes: torch.Tensor
    sorted_indices: torch.Tensor | None
    unsorted_indices: torch.Tensor | None


class PackedSequence(_Fields):
    """Sequences laid out step by step, longest first; made by pack_padded_sequence.

    `data` (sum of lengths, *): all first elements, then all second ones, ... `batch_sizes` (on the
    CPU, int64): how many sequences reach each step. `sorted_indices`, `unsorted_indices`: the
    permutation by length and its inverse, or None.
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Self:
        """From the parts, or from a pair (data, batch_sizes), an older form."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            # PackedSequence((data, batch_sizes)): an older form.
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
            sorted_indices = None
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never "
                "be created manually. They should be instantiated by functions like "
                "pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Any) -> PackedSequence:
        if data is self.data:
            return self
        order, back = (
            None if index is None else index.to(data.device, non_blocking=False)
            for index in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, order, back)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.to()."""
        return self._with(self.data.to(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.cpu()."""
        return self._with(self.data.cpu(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.cuda()."""
        return self._with(self.data.cuda(*args, **kwargs))

    def pin_memory(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.pin_memory()."""
        return self._with(self.data.pin_memory(*args, **kwargs))

    def double(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.double()."""
        return self._with(self.data.double(*args, **kwargs))

    def float(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.float()."""
        return self._with(self.data.float(*args, **kwargs))

    def half(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.half()."""
        return self._with(self.data.half(*args, **kwargs))

    def long(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.long()."""
        return self._with(self.data.long(*args, **kwargs))

    def int(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.int()."""
        return self._with(self.data.int(*args, **kwargs))

    def short(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.short()."""
        return self._with(self.data.short(*args, **kwargs))

    def char(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.char()."""
        return self._with(self.data.char(*args, **kwargs))

    def byte(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data put through Tensor.byte()."""
        return self._with(self.data.byte(*args, **kwargs))

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Any) -> Any:
    """The inverse of a permutation given as a tensor of indices; None of None."""
    if permutation is None:
        return None
    output = torch.empty_like(permutation)
    output.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """A padded batch (T, B, *) (or (B, T, *) with `batch_first`) and its lengths, packed.

    `enforce_sorted`: the lengths must fall; without it the batch is sorted first.
    """
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    elif lengths.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {lengths.device} {lengths.dtype} tensor"
        )
    if enforce_sorted:
        order = None
    else:
        lengths, order = torch.sort(lengths, descending=True, stable=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _whole("aten::_pack_padded_sequence", _pack, input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def traced() -> bool:
    """Whether what runs is being recorded by torch.jit.trace."""
    state = sys.modules.get("rushlight.jit.state")
    return state is not None and state.tracing() is not None


def _whole(kind: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives, which is one op of the program while a call is traced."""
    if not traced():
        return function(*args)
    # jit needs this module, and most programs need no jit
    from rushlight.jit.tracing.traced import recorded_whole

    return recorded_whole(kind, function, *args)


def _pack(input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
    steps = input.transpose(0, 1) if batch_first else input
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    sizes = lengths.tolist()
    if len(sizes) != steps.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
            f"(batch_size={steps.size(1)})"
        )
    if sizes and sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
            "requirement if you do not need ONNX exportability."
        )
    reach = torch.arange(sizes[0]).unsqueeze(1) < lengths.unsqueeze(0)  # (T, B)
    batch_sizes = reach.sum(1)
    # In the order of a packed sequence: step by step.
    places = reach.flatten().nonzero().squeeze(1).to(input.device)
    return steps[: sizes[0]].flatten(0, 1).index_select(0, places), batch_sizes


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """(padded batch (T, B, *), lengths (B,)) of a packed sequence, in the original order.

    `total_length`: T, at least the longest length (ValueError).
    """
    data, batch_sizes, _, unsorted = sequence
    longest = batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            f"Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    steps = longest if total_length is None else total_length
    padded, lengths = _whole(
        "aten::_pad_packed_sequence", _pad_packed, data, batch_sizes, batch_first, padding_value, steps
    )
    if unsorted is not None:
        return padded.index_select(0 if batch_first else 1, unsorted), lengths[unsorted.cpu()]
    return padded, lengths


def _pad_packed(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, steps: int
) -> tuple[Any, Any]:
    batch = int(batch_sizes[0])
    columns = torch.arange(batch)
    reach = columns.unsqueeze(0) < batch_sizes.unsqueeze(1)  # (T, B)
    lengths = reach.sum(0)
    where = torch.nonzero(reach, as_tuple=True)
    padded = data.new_full((steps, batch, *data.shape[1:]), padding_value)
    padded = padded.index_put(tuple(index.to(data.device) for index in where), data)
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Tensors (L_i, *) in one padded batch (T, B, *), or (B, T, *) with `batch_first`."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.size(0) for s in sequences)
    rows = [_padded(s, longest, padding_value, padding_side) for s in sequences]
    return torch.stack(rows, 0 if batch_first else 1)


def _padded(sequence: Any, longest: int, value: float, side: str) -> Any:
    missing = longest - sequence.size(0)
    if missing == 0:
        return sequence
    blank = sequence.new_full((missing, *sequence.shape[1:]), value)
    return torch.cat([sequence, blank] if side == "right" else [blank, sequence])


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The tensors (L_i, *) of a padded batch."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (L_i, *), packed."""
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The tensors (L_i, *) of a packed sequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
