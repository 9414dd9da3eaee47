"""torchmin: minimizers of functions; cvxpylayers, qpth: convex problems as layers; xitorch: functionals."""

import cvxpy as cp
import torch
import xitorch
from cvxpylayers.torch import CvxpyLayer
from qpth.qp import QPFunction
from torchmin import least_squares, minimize, minimize_constr
from xitorch.integrate import quad, solve_ivp
from xitorch.interpolate import Interp1D
from xitorch.linalg import lsymeig, solve, svd
from xitorch.optimize import equilibrium, rootfinder

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def rosenbrock(x):
    """The valley that minimizers are tried on."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


start = torch.tensor([-1.2, 1.0, 0.7])
for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "dogleg", "trust-ncg", "trust-exact"):
    found = minimize(rosenbrock, start, method=method, max_iter=12)
    print(method, f"{found.fun.item():.6f}", found.nit, [round(v, 5) for v in found.x.tolist()])
bounded = minimize_constr(
    rosenbrock, start, constr={"fun": lambda x: x.square().sum(), "ub": 1.5}, max_iter=20
)
print("constr", f"{bounded.fun.item():.4f}", [round(v, 4) for v in bounded.x.tolist()])
times = torch.linspace(0, 2, 15)
seen = 2.5 * torch.exp(-1.3 * times) + 0.5 + 0.01 * torch.randn(15)
fitted = least_squares(lambda p: p[0] * torch.exp(-p[1] * times) + p[2] - seen, torch.ones(3), max_nfev=20)
print("least_squares", [round(v, 6) for v in fitted.x.tolist()])

x, a, b = cp.Variable(3), cp.Parameter((4, 3)), cp.Parameter(4)
problem = cp.Problem(cp.Minimize(cp.sum_squares(a @ x - b) + 0.1 * cp.norm1(x)), [x >= -0.2, cp.sum(x) <= 1])
layer = CvxpyLayer(problem, parameters=[a, b], variables=[x])
left, right = torch.randn(4, 3, requires_grad=True), torch.randn(4, requires_grad=True)
(best,) = layer(left, right)
best.square().sum().backward()
print("cvxpylayers", [round(v, 4) for v in best.tolist()], [round(v, 3) for v in right.grad.tolist()])
(best,) = layer(torch.randn(2, 4, 3), torch.randn(2, 4))
print("cvxpylayers", tuple(best.shape), f"{best.sum().item():.4f}")

root = torch.randn(2, 3, 3)
q = (root @ root.mT + torch.eye(3)).requires_grad_()
p = torch.randn(2, 3, requires_grad=True)
g, h = torch.randn(2, 4, 3), torch.rand(2, 4) + 1
solution = QPFunction(verbose=-1)(q, p, g, h, torch.ones(2, 1, 3), torch.full((2, 1), 0.3))
solution.pow(2).sum().backward()
print("qpth", solution.flatten(), p.grad.flatten(), q.grad[:, 0])

matrix = torch.randn(5, 5, requires_grad=True)
symmetric = matrix + matrix.mT + 6 * torch.eye(5)
operator = xitorch.LinearOperator.m(symmetric, is_hermitian=True)
values, vectors = lsymeig(operator, neig=3)
values.sum().backward()
print("lsymeig", values.detach(), matrix.grad.abs().sum())
print("svd", svd(xitorch.LinearOperator.m(torch.randn(4, 3)), k=2)[1])
for method in ("cg", "bicgstab", "exactsolve"):
    print("solve", method, solve(operator, torch.ones(5, 1), method=method).flatten().detach())


class Rates(xitorch.EditableModule):
    """A function whose parameters are found in an object."""

    def __init__(self, w):
        self.w = w

    def __call__(self, y, *more):
        return torch.tanh(self.w @ y + 0.1) + y / 2

    def getparamnames(self, methodname, prefix=""):
        return [prefix + "w"]


w = (0.3 * torch.randn(3, 3)).requires_grad_()
rates = Rates(w)
point = rootfinder(rates.__call__, torch.zeros(3, 1), method="broyden1")
point.sum().backward()
print("rootfinder", point.flatten().detach(), w.grad.flatten())
fixed = equilibrium(lambda y, c: torch.cos(y) * c, torch.zeros(2), params=(torch.tensor([0.5, 0.9]),))
print("equilibrium", fixed)
scale = torch.tensor(0.7, requires_grad=True)
area = quad(lambda t, c: torch.exp(-c * t * t), torch.tensor(0.0), torch.tensor(2.0), params=(scale,))
(slope,) = torch.autograd.grad(area, scale)
print("quad", area.item(), slope.item())
for method in ("rk4", "rk38", "rk45"):
    path = solve_ivp(lambda t, y, c: -c * y, torch.linspace(0, 1, 5), torch.ones(1), (scale,), method=method)
    print("ivp", method, path.flatten().detach(), torch.autograd.grad(path.sum(), scale)[0].item())
knots = torch.rand(6, requires_grad=True)
curve = Interp1D(torch.linspace(0, 1, 6), knots, method="cspline")(torch.tensor([0.13, 0.5, 0.77]))
print("interp", curve.detach(), torch.autograd.grad(curve.sum(), knots)[0])
del vectors  # of which the signs are free
