"""python -m benchmarks.calls: ordinary calls of programs beside PyTorch, both in this process, in turn.

    --only REGEX     names or calls to run      --threads N   1: the processor's time; more: the clock's (1)
    --rounds N       interleaved rounds (5)     --seconds S   about how long a round is (0.012)
    --above RATIO    what is listed at the end (1.2)

It needs an interpreter with PyTorch. `calls.tsv` has a name and a call a line, over the operands below;
where the name ends in "backward" gradients are computed, too. A call's time is the least of the rounds.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from benchmarks.measure import thread_counts

Clock = Callable[[], float]
BACKWARD = ", backward"
# s: 256 x 256, m: 1024 x 1024, short10: rows of ten, x4: images, xl: channels last, seq: (N, T, features);
# what begins with g is tracked.
OPERANDS = """
r = torch.randn
def L(*s):
    t = r(*s, requires_grad=True); leaves.append(t); return t
leaves = []
_ones = {}
def ones(o):
    k = (tuple(o.shape), str(o.dtype))
    if k not in _ones: _ones[k] = torch.ones_like(o).detach()
    return _ones[k]
s, s2, m, m2 = r(256,256), r(256,256), r(1024,1024), r(1024,1024)
t16 = r(16)
v64k = r(65536)
short4, short3, short10, short32 = r(100000,4), r(100000,3), r(20000,10), r(20000,32)
sh8 = r(1000,8)
sh5 = r(64,5)
x4 = r(8,32,28,28)
xs = r(2,8,16,16)
xl = x4.contiguous(memory_format=torch.channels_last)
xb = r(16,64,56,56)
seq = r(8,64,256)
x1 = r(8,16,256)
x5 = r(2,8,8,16,16)
w1, w3, wd, w5 = r(32,16,3), r(32,32,3,3), r(32,1,3,3), r(16,8,3,3,3)
w11 = r(64,32,1,1)
wt = r(32,16,3,3)
wt1=r(16,32,3)
wt3 = r(8,16,3,3,3)
gx4 = L(8,32,28,28)
gw3 = L(32,32,3,3)
gwd = L(32,1,3,3)
gwt = L(32,16,3,3)
gw1 = L(32,16,3)
gx1 = L(8,16,256)
gw5 = L(16,8,3,3,3)
gx5 = L(2,8,8,16,16)
gm, gm2, gs = L(1024,1024), L(1024,1024), L(256,256)
gseq = L(8,64,256)
gxs = L(2,8,16,16)
gw = L(512,1024)
gb = L(512)
bm1, bm2 = r(64,8,8), r(64,8,8)
bq = r(8,64,32)
bk = r(8,32,64)
b4 = r(1000,4,4)
b3=r(1000,3,3)
spd = bm1 @ bm1.transpose(1,2) + 8*torch.eye(8)
sq = r(128,128)
gbm = L(64,8,8)
spd1 = sq @ sq.t() + 128*torch.eye(128)
i64 = torch.randint(0,1000,(1024,1024))
i32 = i64.int()
i8=(i64%100).to(torch.int8)
u8 = (i64%200).to(torch.uint8)
ism = torch.randint(0,1000,(256,256))
i64b = torch.randint(1,50,(1024,1024))
bo = m > 0
bo2 = m2 > 0
bs = s > 0
mb, mb2, sb = m.bfloat16(), m2.bfloat16(), s.bfloat16()
mh = m.half()
md = m.double()
sd = s.double()
md2=m2.double()
idx = torch.randint(0,1024,(1024,))
idx2 = torch.randint(0,1024,(1024,1024))
idxs = torch.randint(0,256,(64,))
perm=torch.randperm(1024)
tgt = torch.randint(0,10,(64,))
logits = r(64,10)
gl = L(64,10)
cw = torch.rand(10)
glm=L(4096,1000)
tgtm=torch.randint(0,1000,(4096,))
seg = r(4,21,64,64)
gseg = L(4,21,64,64)
stgt = torch.randint(0,21,(4,64,64))
emb = r(1000,64)
gemb = L(1000,64)
eidx = torch.randint(0,1000,(32,64))
eoff = torch.arange(0,2048,16)
eflat = eidx.reshape(-1)
c1, c2 = torch.complex(s,s2), torch.complex(s2,s)
cm = torch.complex(m,m2)
nc = m.t()
ncs = m[::2, ::2]
lst = [r(64,64) for _ in range(32)]
lsts=[r(8) for _ in range(20)]
ctc_in = r(50,8,20).log_softmax(2)
ctc_t = torch.randint(1,20,(8,10))
ctc_il = torch.full((8,),50)
ctc_tl = torch.full((8,),10)
row, col = r(1024), r(1024,1)
q = r(4,8,128,64)
gq = L(4,8,128,64)
params = [torch.nn.Parameter(r(64,64)) for _ in range(20)]
for p in params: p.grad = torch.randn_like(p)
o_s, o16 = torch.empty(256,256), torch.empty(16)
bnw, bnb, bnm, bnv = r(32), r(32), r(32), torch.rand(32)+.5
gn_w, gn_b = L(32), L(32)
ln_w, ln_b = L(256), L(256)
sig = r(16,4096)
win=torch.hann_window(256)
pts, pts2 = r(256,3), r(256,3)
fe, fe2 = r(128,64), r(200,64)
img = torch.rand(4,3,64,64)
grid = torch.rand(4,64,64,2)*2-1
lstm = torch.nn.LSTM(64,128)
gru = torch.nn.GRU(64,128)
rnn = torch.nn.RNN(64,128)
sq3 = r(32,16,64)
mha = torch.nn.MultiheadAttention(256,8,batch_first=True)
tel = torch.nn.TransformerEncoderLayer(256,8,512,batch_first=True)
tel.eval()
pad_mask = torch.zeros(8,64,dtype=torch.bool)
pad_mask[:,50:] = True
telt = torch.nn.TransformerEncoderLayer(256,8,512,batch_first=True,dropout=0.)
prob = torch.rand(64,1000)
bern = torch.rand(1024,1024)
ragged = [r(n,16) for n in (5,9,3,12,7)]
trid = r(8,64,64)
"""


def operands(torch: Any) -> dict[str, Any]:
    """What the calls mention."""
    torch.manual_seed(0)
    found = {"torch": torch, "F": torch.nn.functional}
    exec(OPERANDS, found)  # the text above
    return found


def calls() -> dict[str, str]:
    """The text of each call by its name."""
    lines = (Path(__file__).parent / "calls.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def made(name: str, text: str, scope: dict[str, Any]) -> Callable[[], Any]:
    """The call as a function."""
    body = f"    return {text}\n"
    if name.endswith(BACKWARD):
        forget = "    for p in leaves:\n        p.grad = None\n"
        body = f"{forget}    found = {text}\n    found.backward(ones(found))\n"
    exec(f"def call():\n{body}", scope)  # a call of the list
    call: Callable[[], Any] = scope["call"]
    return call


def spent(call: Callable[[], Any], count: int, clock: Clock) -> float:
    """Seconds a call."""
    start = clock()
    for _ in range(count):
        call()
    return max((clock() - start) / count, 1e-8)


def measured(calls: list[Callable[[], Any]], rounds: int, seconds: float, clock: Clock) -> list[float]:
    """The least seconds of each of two calls."""
    counts = []
    for call in calls:
        for _ in range(3):  # the first ones plan and compile
            count = max(1, int(seconds / spent(call, 1, clock)))
            count = max(1, int(seconds / spent(call, max(1, count // 2), clock)))
        counts.append(count)
    times = [[spent(*each, clock) for each in zip(calls, counts, strict=True)] for _ in range(rounds)]
    return [min(each) for each in zip(*times, strict=True)]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--only", default="")
    for name, default in (("threads", 1), ("rounds", 5)):
        options.add_argument(f"--{name}", type=int, default=default)
    for name, number in (("seconds", 0.012), ("above", 1.2)):
        options.add_argument(f"--{name}", type=float, default=number)
    asked = options.parse_args()
    os.environ.update(thread_counts(asked.threads))
    scopes = [operands(import_module(package)) for package in ("rushlight", "torch")]
    clock = thread_time if asked.threads == 1 else perf_counter
    ratios = {}
    for name, text in calls().items():
        if re.search(asked.only, f"{name}: {text}"):
            both = [made(name, text, scope) for scope in scopes]
            ours, theirs = measured(both, asked.rounds, asked.seconds, clock)
            ratios[name] = ours / theirs
            print(f"{name:32} {1e6 * ours:11.1f} us {1e6 * theirs:11.1f} us {ratios[name]:7.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / max(len(ratios), 1))
    print(f"{len(ratios)} calls, geometric mean {mean:.2f}; above {asked.above}:")
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        if ratio > asked.above:
            print(f"{name:32} {ratio:7.2f}")


if __name__ == "__main__":
    main()
