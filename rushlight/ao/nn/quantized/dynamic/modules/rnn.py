"""Recurrent layers of numbers with quantized weights."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized import computing
from rushlight.ao.quantization.qconfig import default_dynamic_qconfig
from rushlight.nn.utils.rnn import PackedSequence

Tensor = torch.Tensor


class PackedParameter(nn.Module):
    """The weight of one product, quantized, and its bias."""

    def __init__(self, param: tuple[Any, Tensor | None]) -> None:
        super().__init__()
        self.param = param

    def product(self, x: Tensor) -> Tensor:
        """x times the weight, plus the bias; x is quantized at its own range."""
        weight, bias = self.param
        if torch.is_floating_point(weight):
            return nn.functional.linear(x, weight, bias)
        return computing.linear_dynamic(x, weight, bias, reduce_range=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: Any, *rest: Any
    ) -> None:
        self.param = state_dict.pop(prefix + "param")
        super()._load_from_state_dict(state_dict, prefix, metadata, False, *rest)  # type: ignore[misc]


def _packed(mod: Any, weight: Tensor, bias: Tensor | None, dtype: Any) -> PackedParameter:
    bias = None if bias is None else bias.detach()
    if dtype is torch.float16:
        return PackedParameter((weight.detach().half().float(), bias))
    observer = (getattr(mod, "qconfig", None) or default_dynamic_qconfig).weight()
    observer(weight)
    return PackedParameter((computing.quantized_weight(observer, weight.detach()), bias))


def _draw(held: Any, suffix: str, gates: int, wide: int, hidden: int, bias: bool = True) -> None:
    """The weights of one product and the other, drawn as PyTorch draws them."""
    setattr(held, f"weight_ih{suffix}", torch.randn(gates, wide))
    setattr(held, f"weight_hh{suffix}", torch.randn(gates, hidden))
    for side in ("ih", "hh"):
        setattr(held, f"bias_{side}{suffix}", torch.randn(gates) if bias else None)


def _dtype_of(mod: Any) -> Any:
    found = (getattr(mod, "qconfig", None) or default_dynamic_qconfig).weight().dtype
    if found not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {found}")
    return found


def _lstm(given: Tensor, again: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    i, f, g, o = (given + again).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru(given: Tensor, again: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    (r, z, n), (hr, hz, hn) = given.chunk(3, -1), again.chunk(3, -1)
    update = (z + hz).sigmoid()
    new = (n + (r + hr).sigmoid() * hn).tanh()
    return (new + update * (state[0] - new),)


def _tanh(given: Tensor, again: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return ((given + again).tanh(),)


def _relu(given: Tensor, again: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return ((given + again).relu(),)


_STEPS: dict[str, Any] = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": _tanh, "RNN_RELU": _relu}


class RNNBase(nn.Module):
    """What LSTM and GRU share: `_all_weight_values`, each layer's and direction's two products of a step."""

    _FLOAT_MODULE: Any = nn.RNNBase
    _version = 2

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = torch.qint8,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = (
            mode,
            input_size,
            hidden_size,
            num_layers,
        )
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.dtype, self.version, self.training = bidirectional, dtype, 2, False
        gates = (4 if mode == "LSTM" else 3) * hidden_size
        drawn = SimpleNamespace()
        for layer in range(num_layers):
            wide = input_size if not layer else hidden_size * self._directions
            for suffix in ("", "_reverse")[: self._directions]:
                _draw(drawn, f"_l{layer}{suffix}", gates, wide, hidden_size)
        self._take(drawn)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _take(self, mod: Any) -> None:
        parts = []
        for layer in range(self.num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                for side in ("ih", "hh"):
                    weight = getattr(mod, f"weight_{side}_l{layer}{suffix}")
                    bias = getattr(mod, f"bias_{side}_l{layer}{suffix}") if self.bias else None
                    parts.append(_packed(mod, weight, bias, self.dtype))
        self._all_weight_values = nn.ModuleList(parts)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        """The options that are not the defaults."""
        said = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0)):
            value = getattr(self, name)
            said += f", {name}={value}" if value != usual else ""
        return said + (f", bidirectional={self.bidirectional}" if self.bidirectional else "")

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def _run(self, rows: Tensor, sizes: list[int], start: tuple[Tensor, ...], pair: Any, back: bool) -> Any:
        """One layer in one direction over packed rows: (results as they lie, last state)."""
        step, product = _STEPS[self.mode], pair[1].product
        given = pair[0].product(rows).split(sizes)
        held = [s[: sizes[0]] if not back else s[: sizes[-1]] for s in start]
        found: list[Any] = [None] * len(sizes)
        ended: list[list[Tensor]] = [[] for _ in start]
        for t in reversed(range(len(sizes))) if back else range(len(sizes)):
            size, now = sizes[t], held[0].shape[0]
            if size < now:  # sequences that ended: their state stays
                for kept, s in zip(ended, held):
                    kept.append(s[size:])
                held = [s[:size] for s in held]
            elif size > now:  # going back, longer ones begin first, and others join them
                held = [torch.cat([s, first[now:size]]) for s, first in zip(held, start)]
            held = list(step(given[t], product(held[0]), tuple(held)))
            found[t] = held[0]
        last = [torch.cat([s, *reversed(kept)]) for s, kept in zip(held, ended)]
        return torch.cat(found), last

    def _forward(self, rows: Tensor, sizes: list[int], states: tuple[Tensor, ...]) -> Any:
        """All layers over packed rows: (rows, states), states (layers * directions, batch, hidden)."""
        ends: list[list[Tensor]] = [[] for _ in states]
        weights = list(self._all_weight_values)
        for layer in range(self.num_layers):
            sides = []
            for way in range(self._directions):
                at = layer * self._directions + way
                start = tuple(s[at] for s in states)
                out, last = self._run(rows, sizes, start, weights[2 * at : 2 * at + 2], bool(way))
                sides.append(out)
                for kept, s in zip(ends, last):
                    kept.append(s)
            rows = torch.cat(sides, -1)
            if self.dropout and layer < self.num_layers - 1:
                rows = nn.functional.dropout(rows, self.dropout, self.training)
        return rows, tuple(torch.stack(kept) for kept in ends)

    def _states(self, hx: Any, batch: int, like: Tensor) -> tuple[Tensor, ...]:
        if hx is not None:
            given = tuple(hx) if self.mode == "LSTM" else (hx,)
            wanted = (self.num_layers * self._directions, batch, self.hidden_size)
            for s in given:
                if tuple(s.shape) != wanted:
                    raise RuntimeError(f"Expected hidden size {wanted}, got {tuple(s.shape)}")
            return given
        shape = (self.num_layers * self._directions, batch, self.hidden_size)
        return tuple(torch.zeros(shape, dtype=like.dtype) for _ in range(2 if self.mode == "LSTM" else 1))

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(results, last state), as of the float layer; input: a tensor of 3 dims, or a PackedSequence."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.ndim != 3:
            raise RuntimeError(f"input must have 3 dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )
        steps = input.transpose(0, 1) if self.batch_first else input
        length, batch = steps.shape[:2]
        rows, states = self._forward(
            steps.reshape(length * batch, -1), [batch] * length, self._states(hx, batch, input)
        )
        found = rows.reshape(length, batch, -1)
        return (found.transpose(0, 1) if self.batch_first else found), self._given(states)

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        data, sizes, order, back = input
        states = self._states(hx, int(sizes[0]), data)
        if order is not None and hx is not None:
            states = tuple(s.index_select(1, order) for s in states)
        rows, states = self._forward(data, sizes.tolist(), states)
        if back is not None:
            states = tuple(s.index_select(1, back) for s in states)
        return PackedSequence(rows, sizes, order, back), self._given(states)

    def _given(self, states: tuple[Tensor, ...]) -> Any:
        return states if self.mode == "LSTM" else states[0]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one, at the levels that its `qconfig` chooses."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"nn.quantized.dynamic.RNNBase.from_float only works for {cls._FLOAT_MODULE.__name__}"
            )
        made = cls(
            mod.input_size,
            mod.hidden_size,
            mod.num_layers,
            mod.bias,
            mod.batch_first,
            mod.dropout,
            mod.bidirectional,
            _dtype_of(mod),
        )
        made._take(mod)
        return made


class LSTM(RNNBase):
    """nn.LSTM with quantized weights."""

    _FLOAT_MODULE: Any = nn.LSTM

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """nn.GRU with quantized weights."""

    _FLOAT_MODULE: Any = nn.GRU

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(nn.Module):
    """What the cells share: the two products of a step."""

    _FLOAT_MODULE: Any = None
    _mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        num_chunks: int = 4,
        dtype: Any = torch.qint8,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        drawn = SimpleNamespace()
        _draw(drawn, "", num_chunks * hidden_size, input_size, hidden_size, bias)
        self._take(drawn)

    def _take(self, mod: Any) -> None:
        self._packed_weight_ih = _packed(mod, mod.weight_ih, mod.bias_ih, self.weight_dtype)
        self._packed_weight_hh = _packed(mod, mod.weight_hh, mod.bias_hh, self.weight_dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNBase"

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        said = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")
        kind = getattr(self, "nonlinearity", "tanh")
        return said + (f", nonlinearity={kind}" if kind != "tanh" else "")

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def _step(self, input: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]}, expected {self.input_size}"
            )
        given, again = self._packed_weight_ih.product(input), self._packed_weight_hh.product(state[0])
        found: tuple[Tensor, ...] = _STEPS[self._mode](given, again, state)
        return found

    def _zeros(self, input: Tensor) -> Tensor:
        return torch.zeros(input.shape[0], self.hidden_size, dtype=input.dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next state."""
        return self._step(input, (self._zeros(input) if hx is None else hx,))[0]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The cell of a float one, at the levels that its `qconfig` chooses."""
        options: dict[str, Any] = {"nonlinearity": mod.nonlinearity} if isinstance(mod, nn.RNNCell) else {}
        made = cls(mod.input_size, mod.hidden_size, bias=mod.bias, dtype=_dtype_of(mod), **options)
        made._take(mod)
        return made


class RNNCell(RNNCellBase):
    """nn.RNNCell with quantized weights."""

    _FLOAT_MODULE: Any = nn.RNNCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = torch.qint8,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, dtype)
        self.nonlinearity = nonlinearity
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        self._mode = f"RNN_{nonlinearity.upper()}"

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNCell"


class LSTMCell(RNNCellBase):
    """nn.LSTMCell with quantized weights."""

    _FLOAT_MODULE: Any = nn.LSTMCell

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTMCell"

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next state: (h, c)."""
        return self._step(input, (self._zeros(input), self._zeros(input)) if hx is None else tuple(hx))


class GRUCell(RNNCellBase):
    """nn.GRUCell with quantized weights."""

    _FLOAT_MODULE: Any = nn.GRUCell
    _mode = "GRU"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRUCell"
