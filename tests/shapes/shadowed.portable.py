"""Names that an inserted line must not shadow."""

from torch.utils.data import DataLoader
import torch as th
from torchvision import datasets, transforms

default_device = th.device("cuda" if th.cuda.is_available() else "cpu")

torch = "a name of its own"


def train(model, device):
    loader = DataLoader(datasets.MNIST("data", transform=transforms.ToTensor()), num_workers=2, pin_memory=th.cuda.is_available())
    for x, y in loader:
        model(x.to(default_device, non_blocking=True), y.to(default_device, non_blocking=True))
    return torch, device


class Net(th.nn.Module):
    def forward(self, x):
        mask = th.zeros(x.size(0), 3, device=x.device)
        return self.layer(x) * mask
