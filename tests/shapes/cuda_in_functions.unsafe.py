"""Fixes of several rules in one function: TL104 and TL701 come to the same devices, whichever is applied first."""

import torch
import torch.nn as nn


def beside_a_tensor(x: torch.Tensor, share):
    order = torch.randperm(x.size(0)).cuda()
    return share * x + (1 - share) * x[order] + torch.zeros(4, device="cuda")


def without_one(net: nn.Module, n):
    return net.cuda()(torch.zeros(n, 4, device="cuda"))


def left_alone(net: nn.Module, n, gpu):
    return net.cuda(gpu)(torch.rand(n, 4).cuda())
