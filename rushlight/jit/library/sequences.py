"""torch.nn.utils.rnn's functions, as TorchScript."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.nn.utils.rnn import PackedSequence


class rnn_utils:
    def invert_permutation(permutation: Tensor | None) -> Tensor | None:
        if permutation is None:
            return None
        places = torch.arange(0, permutation.numel(), device=permutation.device)
        return torch.empty_like(permutation).scatter_(0, permutation, places)

    def pack_padded_sequence(
        input: Tensor, lengths: Tensor, batch_first: bool = False, enforce_sorted: bool = True
    ) -> PackedSequence:
        if enforce_sorted:
            data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
            return PackedSequence(data, batch_sizes, None, None)
        falling, order = torch.sort(lengths, descending=True, stable=True)
        order = order.to(input.device)
        chosen = input.index_select(0 if batch_first else 1, order)
        data, batch_sizes = torch._pack_padded_sequence(chosen, falling, batch_first)
        places = torch.arange(0, order.numel(), device=order.device)
        return PackedSequence(data, batch_sizes, order, torch.empty_like(order).scatter_(0, order, places))

    def pad_packed_sequence(
        sequence: PackedSequence,
        batch_first: bool = False,
        padding_value: float = 0.0,
        total_length: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        longest = sequence.batch_sizes.size(0)
        if total_length is not None:
            if total_length < longest:
                raise ValueError(
                    f"Expected total_length to be at least the length of the longest sequence in input, "
                    f"but got total_length={total_length} and max sequence length being {longest}"
                )
            longest = total_length
        padded, lengths = torch._pad_packed_sequence(
            sequence.data, sequence.batch_sizes, batch_first, padding_value, longest
        )
        unsorted = sequence.unsorted_indices
        if unsorted is not None:
            return padded.index_select(0 if batch_first else 1, unsorted), lengths[unsorted.cpu()]
        return padded, lengths
