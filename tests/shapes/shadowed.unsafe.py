"""Names that an inserted line must not shadow."""

from torch.utils.data import DataLoader
import torch as th
from torchvision import datasets, transforms

torch = "a name of its own"


def train(model, device):
    loader = DataLoader(datasets.MNIST("data", transform=transforms.ToTensor()), num_workers=2, pin_memory=th.cuda.is_available())
    for x, y in loader:
        model(x.cuda(non_blocking=True), y.cuda(non_blocking=True))
    return torch, device


class Net(th.nn.Module):
    def forward(self, x):
        mask = th.zeros(x.size(0), 3, device="cuda")
        return self.layer(x) * mask
