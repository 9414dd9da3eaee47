"""safetensors: files of tensors and of models, with shared weights, by several threads."""

import os
import tempfile
import threading

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

tensors = {
    "weights": torch.randn(300, 200, 2),
    "half": torch.randn(5, 25).half(),
    "brain": torch.randn(7).bfloat16(),
    "count": torch.tensor(768, dtype=torch.int32),
    "mask": torch.rand(9) > 0.5,
    "eighth": torch.randn(4, 4).to(torch.float8_e4m3fn),
}
for name, tensor in sorted(load(save(tensors)).items()):
    print(name, tensor.dtype, tuple(tensor.shape), float(tensor.double().sum()))


class Tied(torch.nn.Module):
    """Two names of one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(11, 6)
        self.head = torch.nn.Linear(6, 11, bias=False)
        self.head.weight = self.embedding.weight


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.safetensors")
    model, other = Tied(), Tied()
    save_model(model, path)
    print(load_model(other, path), torch.equal(model.head.weight, other.head.weight))
    try:
        save_file(model.state_dict(), path)
    except RuntimeError as error:
        print(str(error).split("\n")[0][:60])

    def round_trips(worker: int, right: list) -> None:
        """Saves and loads, as others do."""
        own = os.path.join(folder, f"{worker}.safetensors")
        for _ in range(3):
            save_file(tensors, own, metadata={"format": "pt"})
            right.append(all(torch.equal(v.double(), tensors[k].double()) for k, v in load_file(own).items()))

    right: list = []
    workers = [threading.Thread(target=round_trips, args=(i, right)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(len(right), all(right))
    with safe_open(os.path.join(folder, "0.safetensors"), framework="pt") as file:
        part = file.get_slice("weights")
        print(sorted(file.keys()), file.metadata(), part.get_shape(), part[2:5, :3].sum().item())
