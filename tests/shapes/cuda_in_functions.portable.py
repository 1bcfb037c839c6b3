"""Fixes of several rules in one function: TL104 and TL701 come to the same devices, whichever is applied first."""

import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def beside_a_tensor(x: torch.Tensor, share):
    order = torch.randperm(x.size(0)).to(device)
    return share * x + (1 - share) * x[order] + torch.zeros(4, device=device)


def without_one(net: nn.Module, n):
    return net.to(device)(torch.zeros(n, 4, device=device))


def left_alone(net: nn.Module, n, gpu):
    return net.cuda(gpu)(torch.rand(n, 4).to(device))
