#!/usr/bin/env python
# Licence: a line that stays first.
"""A module whose imports lack `torch` itself."""

from __future__ import annotations

import os
from torch.utils.data import DataLoader  # the loader
from torchvision import datasets, transforms
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

ROOT = os.getcwd()


def train(model):
    loader = DataLoader(datasets.MNIST(ROOT, transform=transforms.ToTensor()), num_workers=2, pin_memory=torch.cuda.is_available())
    for x, y in loader:
        model(x.to(device, non_blocking=True), y.to(device, non_blocking=True))


def train_again(model):
    loader = DataLoader(datasets.MNIST("other", transform=transforms.ToTensor()), num_workers=2, pin_memory=torch.cuda.is_available())
    for x, y in loader:
        model(x.to(device, non_blocking=True), y.to(device, non_blocking=True))
