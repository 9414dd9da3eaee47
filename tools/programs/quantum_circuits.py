"""PennyLane: circuits of qubits whose angles are trained."""

import numpy as np
import pennylane as qml
import torch

torch.set_default_dtype(torch.float64)
device = qml.device("default.qubit", wires=3)


@qml.qnode(device, interface="torch", diff_method="backprop")
def expectations(inputs, weights):
    """Values of Z of each qubit."""
    qml.AngleEmbedding(inputs, wires=range(3))
    qml.BasicEntanglerLayers(weights, wires=range(3))
    return [qml.expval(qml.PauliZ(i)) for i in range(3)]


weights = torch.tensor(np.random.RandomState(0).rand(2, 3), requires_grad=True)
found = torch.stack(expectations(torch.tensor([0.1, 0.2, 0.3]), weights))
found.sum().backward()
print(found, weights.grad)
layer = qml.qnn.TorchLayer(expectations, {"weights": (2, 3)})
model = torch.nn.Sequential(torch.nn.Linear(4, 3), layer, torch.nn.Linear(3, 2))
print(model(torch.rand(5, 4)).sum(0))
