"""Methods of torch.nn's recurrent modules, as TorchScript."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.nn.utils.rnn import PackedSequence


class RNNBase:
    def _check(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"RNN: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _zeros(self, input: Tensor, batch: int, size: int):
        return torch.zeros(
            [self.num_layers * (2 if self.bidirectional else 1), batch, size],
            dtype=input.dtype,
            device=input.device,
        )

    def _check_state(self, state: Tensor, batch: int, size: int) -> None:
        wanted = [self.num_layers * (2 if self.bidirectional else 1), batch, size]
        if state.size() != wanted:
            raise RuntimeError(f"Expected hidden size {wanted}, got {state.size()}")

    def _packed_state(self, input: PackedSequence, hx: Tensor | None, size: int) -> Tensor:
        batch = int(input.batch_sizes[0])
        if hx is None:
            return self._zeros(input.data, batch, size)
        self._check_state(hx, batch, size)
        order = input.sorted_indices
        return hx if order is None else hx.index_select(1, order)

    def _unsorted(self, state: Tensor, input: PackedSequence) -> Tensor:
        places = input.unsorted_indices
        return state if places is None else state.index_select(1, places)


class LSTM:
    def forward__0(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]:
        self._check(input.data)
        out = self.proj_size if self.proj_size > 0 else self.hidden_size
        if hx is None:
            state = [
                self._packed_state(input, None, out),
                self._packed_state(input, None, self.hidden_size),
            ]
        else:
            state = [
                self._packed_state(input, hx[0], out),
                self._packed_state(input, hx[1], self.hidden_size),
            ]
        found = torch.lstm(
            input.data,
            input.batch_sizes,
            state,
            self._weights(),
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        packed = PackedSequence(found[0], input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        return packed, (self._unsorted(found[1], input), self._unsorted(found[2], input))

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        self._check(input)
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        batch = x.size(batch_dim)
        out = self.proj_size if self.proj_size > 0 else self.hidden_size
        if hx is None:
            state = [self._zeros(x, batch, out), self._zeros(x, batch, self.hidden_size)]
        else:
            state = [hx[0] if batched else hx[0].unsqueeze(1), hx[1] if batched else hx[1].unsqueeze(1)]
            self._check_state(state[0], batch, out)
            self._check_state(state[1], batch, self.hidden_size)
        found = torch.lstm(
            x,
            state,
            self._weights(),
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if batched:
            return found[0], (found[1], found[2])
        return found[0].squeeze(batch_dim), (found[1].squeeze(1), found[2].squeeze(1))


class GRU:
    def forward__0(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]:
        self._check(input.data)
        state = self._packed_state(input, hx, self.hidden_size)
        found = torch.gru(
            input.data,
            input.batch_sizes,
            state,
            self._weights(),
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        packed = PackedSequence(found[0], input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        return packed, self._unsorted(found[1], input)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self._check(input)
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        if hx is None:
            state = self._zeros(x, x.size(batch_dim), self.hidden_size)
        else:
            state = hx if batched else hx.unsqueeze(1)
            self._check_state(state, x.size(batch_dim), self.hidden_size)
        found = torch.gru(
            x,
            state,
            self._weights(),
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if batched:
            return found[0], found[1]
        return found[0].squeeze(batch_dim), found[1].squeeze(1)


class RNN:
    def forward__0(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]:
        self._check(input.data)
        state = self._packed_state(input, hx, self.hidden_size)
        if self.nonlinearity == "tanh":
            found = torch.rnn_tanh(
                input.data,
                input.batch_sizes,
                state,
                self._weights(),
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
            )
        else:
            found = torch.rnn_relu(
                input.data,
                input.batch_sizes,
                state,
                self._weights(),
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
            )
        packed = PackedSequence(found[0], input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        return packed, self._unsorted(found[1], input)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self._check(input)
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        if hx is None:
            state = self._zeros(x, x.size(batch_dim), self.hidden_size)
        else:
            state = hx if batched else hx.unsqueeze(1)
            self._check_state(state, x.size(batch_dim), self.hidden_size)
        if self.nonlinearity == "tanh":
            found = torch.rnn_tanh(
                x,
                state,
                self._weights(),
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
                self.batch_first,
            )
        else:
            found = torch.rnn_relu(
                x,
                state,
                self._weights(),
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
                self.batch_first,
            )
        if batched:
            return found[0], found[1]
        return found[0].squeeze(batch_dim), found[1].squeeze(1)


class RNNCellBase:
    def _batch(self, input: Tensor):
        if input.dim() != 1 and input.dim() != 2:
            raise ValueError(f"Expected input to be 1D or 2D, got {input.dim()}D instead")
        return input if input.dim() == 2 else input.unsqueeze(0)

    def _zeros(self, x: Tensor):
        return torch.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)


class RNNCell:
    def forward(self, input: Tensor, hx: Tensor | None = None):
        x = self._batch(input)
        state = self._zeros(x) if hx is None else self._batch(hx)
        if self.nonlinearity == "tanh":
            found = torch.rnn_tanh_cell(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            found = torch.rnn_relu_cell(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return found if input.dim() == 2 else found.squeeze(0)


class GRUCell:
    def forward(self, input: Tensor, hx: Tensor | None = None):
        x = self._batch(input)
        state = self._zeros(x) if hx is None else self._batch(hx)
        found = torch.gru_cell(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return found if input.dim() == 2 else found.squeeze(0)


class LSTMCell:
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        x = self._batch(input)
        if hx is None:
            state = [self._zeros(x), self._zeros(x)]
        else:
            state = [self._batch(hx[0]), self._batch(hx[1])]
        found = torch.lstm_cell(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if input.dim() == 2:
            return found[0], found[1]
        return found[0].squeeze(0), found[1].squeeze(0)
