"""What stores answer, printed line by line; under PyTorch and under Rushlight. Argument: a folder for files."""

import os
import sys
import warnings
from datetime import timedelta

import torch.distributed as dist

warnings.filterwarnings("ignore")


def show(name, call):
    try:
        print(name, call())
    except Exception as error:
        kind = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
        print(name, kind, "timeout" if "timeout" in str(error).lower() else str(error).splitlines()[0][:60])


tcp = dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=5))
file = dist.FileStore(os.path.join(sys.argv[1], f"store{os.getpid()}"), 1)
for kind, store in (
    ("tcp", tcp),
    ("hash", dist.HashStore()),
    ("file", file),
    ("prefix", dist.PrefixStore("p", tcp)),
    ("prefix of file", dist.PrefixStore("q", file)),
):
    store.set_timeout(timedelta(seconds=0.2))
    show(
        f"{kind} set", lambda: (store.set("a", "1"), store.get("a"), store.set("b", b"x\0y"), store.get("b"))
    )
    show(f"{kind} absent", lambda: store.get("absent"))
    show(f"{kind} add", lambda: (store.add("n", 5), store.add("n", -2), store.get("n")))
    show(f"{kind} wait", lambda: (store.wait(["a", "b"]), store.wait(["a"], timedelta(seconds=1))))
    show(f"{kind} wait in vain", lambda: store.wait(["absent"], timedelta(milliseconds=50)))
    show(f"{kind} check", lambda: (store.check(["a"]), store.check(["a", "absent"])))
    show(f"{kind} delete", lambda: (store.delete_key("a"), store.check(["a"])))
    show(
        f"{kind} compare",
        lambda: [
            store.compare_set(*words)
            for words in (("c", "", "v1"), ("c", "no", "v2"), ("c", "v1", "v3"), ("d", "foo", "v"))
        ],
    )
    show(f"{kind} append", lambda: (store.append("e", "x"), store.append("e", "y"), store.get("e")))
    show(f"{kind} several", lambda: (store.multi_set(["m", "k"], ["1", "2"]), store.multi_get(["m", "k"])))
    show(f"{kind} timeout", lambda: store.timeout)
    show(f"{kind} clone", lambda: store.clone().get("e"))
show("keys", lambda: (tcp.num_keys(), sorted(dist.HashStore().list_keys())))
show("names", lambda: (tcp.host, tcp.port > 0, type(dist.PrefixStore("p", tcp).underlying_store).__name__))
show("refused", lambda: dist.TCPStore("127.0.0.1", 1, None, False, timedelta(seconds=0.3)))
show("taken", lambda: type(dist.TCPStore("127.0.0.1", tcp.port, None, True)))
show("workers", lambda: dist.TCPStore("127.0.0.1", 0, 1, True, timedelta(seconds=1)).num_keys())
show("alone", lambda: dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore()))
