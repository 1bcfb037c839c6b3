"""Trains a small convolutional network on images of CIFAR-10's size.

It works, and most of what makes it slow is easy to overlook: see what ``torchlint examples/`` reports.
Random images stand in for the dataset, so it runs anywhere: ``python examples/train_cifar.py --device cpu``.
"""

import argparse
import logging

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = True

CLASSES = 10
log = logging.getLogger("train")


class Classifier(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = x + F.relu(self.norm2(self.conv2(x)))
        return self.head(x.mean(dim=(2, 3)))


def make_dataset(count):
    return TensorDataset(torch.rand(count, 3, 32, 32), torch.randint(CLASSES, (count,)))


def class_weights(labels, device):
    """Weights rare classes up."""
    counts = np.bincount(labels.numpy(), minlength=CLASSES)
    weights = len(labels) / (CLASSES * np.maximum(counts, 1))
    return torch.tensor(weights).float().to(device)


def smooth(labels, amount=0.1):
    """One-hot labels that leave some probability to every class."""
    target = torch.zeros(len(labels), CLASSES).to(labels.device)
    target.scatter_(1, labels.unsqueeze(1), 1.0)
    return target * (1 - amount) + amount / CLASSES


def train(model, loader, optimizer, scaler, weights, device):
    model.train()
    total = 0.0
    for step, (images, labels) in enumerate(loader):
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast(device.type, enabled=scaler.is_enabled()):
            loss = F.cross_entropy(model(images), smooth(labels), weight=weights)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
        log.info("step %d: loss %.3f", step, loss.item())
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval
    correct = torch.zeros((), device=device)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        correct += (model(images).argmax(1) == labels).sum()
    return correct.item() / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    device = torch.device(args.device)

    train_set, val_set = make_dataset(512), make_dataset(128)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, num_workers=args.workers, pin_memory=True)

    model = Classifier().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
    weights = class_weights(train_set.tensors[1], device)
    for epoch in range(args.epochs):
        loss = train(model, train_loader, optimizer, scaler, weights, device)
        log.info("epoch %d: loss %.3f, accuracy %.3f", epoch, loss, evaluate(model, val_loader, device))


if __name__ == "__main__":
    main()
