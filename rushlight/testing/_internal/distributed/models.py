"""Small networks that tests of several ranks train: perceptrons and a transformer with its plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from rushlight.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from rushlight.distributed.tensor.parallel.style import ParallelStyle
from rushlight.utils.checkpoint import checkpoint


class RMSNormPython(nn.Module):
    """x / sqrt(mean(x * x) + eps) over the last dim, times a weight. Any shape."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MLPModule(nn.Module):
    """Two layers, 10 to 16 to 10, the same numbers each time."""

    def __init__(self, device: Any, bias: bool = True) -> None:
        super().__init__()
        torch.manual_seed(5)
        there, back = (nn.Linear(n, m, bias, device) for n, m in ((10, 16), (16, 10)))
        self.net1, self.relu, self.net2 = there, nn.ReLU(), back

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.net2(self.relu(self.net1(x)))
        return found

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        self.net1.reset_parameters()
        self.net2.reset_parameters()


class MLPStacked(nn.Module):
    """Several of these, one after the other."""

    def __init__(self, device: Any, n_layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList([MLPModule(device) for _ in range(n_layers)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@dataclass
class ModelArgs:
    """Sizes and options of Transformer."""

    n_layers: int = 2
    vocab_size: int = 8
    max_seq_len: int = 16
    dim: int = 16
    n_heads: int = 4
    dropout_p: float = 0.1
    use_attn_mask: bool = True
    weight_tying: bool = True
    checkpoint_activations: bool = False
    num_experts: int = 0


class Attention(nn.Module):
    """Self-attention. (batch, length, dim) to the same."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        if args.dim % args.n_heads:
            raise AssertionError(f"Expected args.dim % args.n_heads == 0, got {args.dim} % {args.n_heads}")
        self.head_dim, self.n_heads = args.dim // args.n_heads, args.n_heads
        self.dropout_p, self.use_attn_mask = args.dropout_p, args.use_attn_mask
        self.resid_dropout = nn.Dropout(args.dropout_p)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(args.dim, args.dim, bias=False) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = [
            part(x).view(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
            for part in (self.wq, self.wk, self.wv)
        ]
        dropout = self.dropout_p if self.training else 0
        attend = nn.functional.scaled_dot_product_attention
        found = attend(heads[0], heads[1], heads[2], None, dropout, self.use_attn_mask)
        together = found.transpose(1, 2).reshape(batch, length, -1)
        done: Tensor = self.resid_dropout(self.wo(together))
        return done


class FeedForward(nn.Module):
    """Two layers with a GELU between. (..., dim) to the same."""

    def __init__(self, dim: int, hidden_dim: int, dropout_p: float) -> None:
        super().__init__()
        there, back = (nn.Linear(n, m) for n, m in ((dim, hidden_dim), (hidden_dim, dim)))
        self.w1, self.gelu, self.w2, self.resid_dropout = there, nn.GELU(), back, nn.Dropout(dropout_p)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.resid_dropout(self.w2(self.gelu(self.w1(x))))
        return found


class Experts(nn.Module):
    """Perceptrons side by side, whose results are added. (tokens, dim) to the same."""

    def __init__(self, dim: int, hidden_dim: int, num_experts: int) -> None:
        super().__init__()
        self.num_experts, self.gelu = num_experts, nn.GELU()
        sizes = (num_experts, hidden_dim, dim), (num_experts, dim, hidden_dim)
        self.w1, self.w2 = (nn.Parameter(torch.empty(size)) for size in sizes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        for weight in (self.w1, self.w2):
            nn.init.normal_(weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        w1, w2 = (w.to_local() if isinstance(w, DTensor) else w for w in (self.w1, self.w2))
        hidden = self.gelu(torch.bmm(x.expand(len(w1), *x.shape), w1.transpose(-2, -1)))
        return torch.bmm(hidden, w2.transpose(-2, -1)).sum(0)


class ExpertLayer(nn.Module):
    """The mean of experts. (batch, length, dim) to the same."""

    def __init__(self, num_experts: int, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.num_experts = num_experts
        self.experts = Experts(dim, hidden_dim, num_experts)

    def forward(self, x: Tensor) -> Tensor:
        return (self.experts(x.flatten(0, -2)) / self.num_experts).view(x.shape)  # type: ignore[no-any-return]


class TensorParallelForExpert(ParallelStyle):
    """Experts whose hidden dim is cut over the ranks."""

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None) -> None:
        super().__init__()
        self.input_layouts, self.output_layouts = input_layouts, output_layouts or Replicate()

    def _partition_fn(self, name: str, module: nn.Module, device_mesh: DeviceMesh) -> None:
        for called, dim in (("w1", 1), ("w2", 2)):
            whole = dict(module.named_parameters(recurse=False)).get(called)
            if whole is not None:
                cut = distribute_tensor(whole, device_mesh, [Shard(dim)])
                module.register_parameter(called, nn.Parameter(cut))

    def _input_fn(self, module: nn.Module, inputs: Any, device_mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        given = DTensor.from_local(inputs[0], device_mesh, [self.input_layouts])
        return (given.redistribute(device_mesh, [Replicate()]).to_local(),)

    def _output_fn(self, module: nn.Module, outputs: Any, device_mesh: DeviceMesh) -> Any:
        found = DTensor.from_local(outputs, device_mesh, [Partial()])
        return found.redistribute(device_mesh, [self.output_layouts]).to_local()

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        functions = self._partition_fn, self._input_fn, self._output_fn
        found: nn.Module = distribute_module(module, device_mesh, *functions)
        return found


class TransformerBlock(nn.Module):
    """Attention and a perceptron, or experts, with what goes by."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        width, experts = args.dim, args.num_experts
        self.attention_norm, self.attention = nn.LayerNorm(width), Attention(args)
        self.ffn_norm, self.has_experts = nn.LayerNorm(width), experts > 0
        if self.has_experts:
            self.expert_layer = ExpertLayer(experts, width, 4 * width)
        else:
            self.feed_forward = FeedForward(width, 4 * width, args.dropout_p)

    def forward(self, x: Tensor) -> Tensor:
        h = x + self.attention(self.attention_norm(x))
        last = self.expert_layer if self.has_experts else self.feed_forward
        return h + last(self.ffn_norm(h))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """A language model. (batch, length) of int64 to (batch, length, vocabulary) of float32."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.model_args = args
        self.max_seq_len, self.checkpoint_activations = args.max_seq_len, args.checkpoint_activations
        rows, width = (args.vocab_size, args.max_seq_len), args.dim
        self.tok_embeddings, self.pos_embeddings = (nn.Embedding(n, width) for n in rows)
        self.dropout = nn.Dropout(args.dropout_p)
        self.layers = nn.ModuleList(TransformerBlock(args) for _ in range(args.n_layers))
        self.norm, self.output = nn.LayerNorm(width), nn.Linear(width, args.vocab_size, bias=False)
        if args.weight_tying:
            self.output.weight = self.tok_embeddings.weight

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.size(1)
        if length > self.max_seq_len:
            raise AssertionError(f"Expected seq_len <= max_seq_len, got {length} > {self.max_seq_len}")
        places = self.pos_embeddings(torch.arange(length, device=tokens.device))
        h = self.dropout(self.tok_embeddings(tokens) + places)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=False) if self.checkpoint_activations else layer(h)
        found: Tensor = self.output(self.norm(h)).float()
        return found

    @staticmethod
    def parallelize(
        module: Transformer,
        tp_mesh: DeviceMesh | None,
        use_seq_parallel: bool,
        local_output_for_attn: bool = False,
        ep_mesh: DeviceMesh | None = None,
    ) -> nn.Module:
        """Cut the weights over a mesh of one dim; use_seq_parallel: activations along the sequence, too.

        local_output_for_attn: heads are plain tensors. NotImplementedError for a mesh of experts.
        """
        if not isinstance(module, Transformer):
            raise AssertionError(f"Requires Transformer but got {module}")
        if tp_mesh is None and ep_mesh is None:
            raise ValueError("At least one of tp_mesh or ep_mesh must be provided")
        if tp_mesh is None or ep_mesh is not None:
            raise NotImplementedError("Transformer.parallelize: experts over ranks of their own")
        parallelize_module(module, tp_mesh, _ends(use_seq_parallel))
        for layer in module.layers:
            parallelize_module(
                layer, tp_mesh, _block(cast(TransformerBlock, layer), use_seq_parallel, local_output_for_attn)
            )
            if local_output_for_attn:
                cast(TransformerBlock, layer).attention.n_heads = module.model_args.n_heads // tp_mesh.size()
        given = Shard(1) if use_seq_parallel else None
        last = ColwiseParallel(input_layouts=given, output_layouts=Replicate())
        parallelize_module(module.output, tp_mesh, last)
        if module.model_args.weight_tying:
            module.output.weight = module.tok_embeddings.weight
        return module


def _ends(cut: bool) -> dict[str, ParallelStyle]:
    """How the embeddings and the last norm lie; cut: along the sequence."""
    tokens, places = (Shard(1), Shard(0)) if cut else (Replicate(), Replicate())
    plan: dict[str, ParallelStyle] = {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=tokens),
        "pos_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=places),
    }
    if cut:
        plan["norm"] = SequenceParallel()
    return plan


def _block(layer: TransformerBlock, cut: bool, local: bool) -> dict[str, ParallelStyle]:
    """How a block's weights lie."""
    plan: dict[str, ParallelStyle] = {
        f"attention.{name}": ColwiseParallel(use_local_output=local) for name in ("wq", "wk", "wv")
    }
    rows = Shard(1) if cut else None
    plan["attention.wo"] = RowwiseParallel(output_layouts=rows)
    if cut:
        plan["attention"] = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
        plan["attention_norm"] = plan["ffn_norm"] = SequenceParallel()
    if layer.has_experts:
        both = {"input_layouts": Shard(0), "output_layouts": Shard(0)} if cut else {}
        plan["expert_layer.experts"] = TensorParallelForExpert(**both)
    else:
        plan["feed_forward.w1"] = ColwiseParallel(input_layouts=Shard(1) if cut else None)
        plan["feed_forward.w2"] = RowwiseParallel(output_layouts=rows)
    return plan
