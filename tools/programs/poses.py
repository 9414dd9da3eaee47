"""pypose and roma: Lie groups of rotations and poses."""

import pypose as pp
import roma
import torch

torch.manual_seed(0)
x = pp.randn_so3(3, requires_grad=True)
X = x.Exp()
print(X)
p = torch.randn(3, 3)
y = X @ p
print(y)
y.sum().backward()
print(x.grad)
T = pp.randn_SE3(2)
print(
    (T.Inv() @ T).tensor().abs().round(decimals=5),
    T.Log(),
    T.matrix(),
    T.Adj(pp.randn_se3(2)),
    T.tensor().sum(),
)
s = pp.randn_Sim3(2)
print(s, s.matrix().sum(), s.Log())
print(pp.mat2SO3(X.matrix()), pp.euler2SO3(torch.tensor([[0.1, 0.2, 0.3]])), X.euler())
print(T[0], T * T, T.Retr(pp.randn_se3(2)), torch.stack([T[0], T[1]]).lview(-1), torch.cat([T, T]).lshape)


class Inv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pose = pp.Parameter(pp.randn_SE3(2, 2))

    def forward(self, inp):
        return (self.pose @ inp).Log().tensor()


inp = pp.randn_SE3(2, 2)
m = Inv()
o = pp.optim.LM(m, strategy=pp.optim.strategy.Adaptive(damping=1e-4))
for _ in range(4):
    print(float(o.step(inp)))
o = pp.optim.GN(Inv())
print(float(o.step(inp)), float(o.step(inp)))
print(pp.bmv(torch.randn(2, 3, 3), torch.randn(2, 3)), pp.cumprod(T, dim=0))
imu = pp.module.IMUPreintegrator(torch.zeros(3), pp.identity_SO3(), torch.zeros(3))
print(imu(dt=torch.full((1, 4, 1), 0.1), gyro=torch.randn(1, 4, 3), acc=torch.randn(1, 4, 3))["pos"])


class Dyn(pp.module.NLS):
    def state_transition(self, state, input, t=None):
        return state.cos() * input + state

    def observation(self, state, input, t=None):
        return state.sin() + input


k = pp.module.EKF(Dyn())
xs, P = k(
    torch.zeros(2), torch.ones(2), torch.ones(2) * 0.1, torch.eye(2), torch.eye(2) * 0.1, torch.eye(2) * 0.1
)
print(xs, P)

torch.manual_seed(0)
R = roma.random_rotmat(4)
q = roma.rotmat_to_unitquat(R)
v = roma.unitquat_to_rotvec(q)
print(R, q, v, roma.rotvec_to_rotmat(v).sub(R).abs().max() < 1e-5)
M = torch.randn(5, 3, 3, requires_grad=True)
S = roma.special_procrustes(M)
print(S)
S.sum().backward()
print(M.grad)
print(
    roma.euler_to_rotmat("xyz", [torch.tensor(0.1), torch.tensor(0.2), torch.tensor(0.3)]),
    roma.rotmat_geodesic_distance(R[0], R[1]),
    roma.unitquat_slerp(q[0], q[1], torch.linspace(0, 1, 3)),
)
x, y = torch.randn(10, 3), torch.randn(10, 3)
Rg, t = roma.rigid_points_registration(x, y)
print(Rg, t)
A = roma.Rigid(R, torch.randn(4, 3))
print(
    (A @ A.inverse()).to_homogeneous().abs().round(decimals=5),
    roma.symmatrixvec_to_unitquat(torch.randn(2, 10)),
)
print(roma.random_unitquat(3), roma.rotmat_to_euler("zyx", R))
