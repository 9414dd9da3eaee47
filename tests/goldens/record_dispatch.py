"""Record all of PyTorch's aten overloads: python record_dispatch.py > rushlight/_torch_dispatch/aten.tsv

A line: the signature; "c" where it is made of other ops before a dispatcher's listeners hear of it ("-" otherwise);
its tags.
"""

import torch


def main():
    rows = []
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::"):
            continue
        name, overload = schema.name.removeprefix("aten::"), schema.overload_name or "default"
        packet = getattr(torch.ops.aten, name, None)
        if packet is None or overload not in packet.overloads():
            continue
        op = getattr(packet, overload)
        if not torch._C._dispatch_has_kernel(op.name()):
            continue
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")
        tags = ",".join(sorted(t.name for t in op.tags))
        rows.append((str(schema).removeprefix("aten::"), "c" if composite else "-", tags or "-"))
    for row in sorted(set(rows)):
        print(*row, sep="\t")


main()
