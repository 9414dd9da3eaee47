"""Trains FSDP by one way for some steps from a checkpoint, and saves one.

python dcp.py WAY FOLDER STEPS LOAD     LOAD: whether to load from FOLDER first
"""

import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from train import Net, wrapped


def main(way, folder, steps, load):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank if load else 0)  # what is loaded must not be there already
    net = wrapped(Net(), way if world > 1 else "one")
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    begin = {"step": 0}
    if load:
        model_state, optim_state = get_state_dict(net, opt)
        state = {"model": model_state, "optim": optim_state, "begin": begin}
        dcp.load(state, checkpoint_id=folder)
        begin = state["begin"]
        set_state_dict(net, opt, model_state_dict=state["model"], optim_state_dict=state["optim"])
    torch.manual_seed(1)
    inputs, targets = torch.randint(0, 11, (50, 12, 5)), torch.randint(0, 7, (50, 12))
    losses = []
    for step in range(begin["step"], begin["step"] + steps):
        x, y = inputs[step].chunk(world)[rank], targets[step].chunk(world)[rank]
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / world)
    model_state, optim_state = get_state_dict(net, opt)
    dcp.save(
        {"model": model_state, "optim": optim_state, "begin": {"step": begin["step"] + steps}},
        checkpoint_id=folder,
    )
    print(json.dumps({"rank": rank, "losses": losses}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True")
