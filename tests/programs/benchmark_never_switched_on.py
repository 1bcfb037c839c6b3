# rules: TL506
import torch


class Digits(torch.utils.data.Dataset):
    def __init__(self, root, transform=None):
        self.count = 12

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.ones(1, 28, 28), i % 10


class Installed:
    class datasets:
        MNIST = Digits

    class transforms:
        ToTensor = object


__import__("sys").modules["torchvision"] = Installed

from torchvision import datasets, transforms


def main():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.Flatten(), torch.nn.Linear(5408, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = datasets.MNIST("data", transform=transforms.ToTensor())
    for x, y in torch.utils.data.DataLoader(data, batch_size=4):
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()


if __name__ == "__main__":  # TL506 unknown "3 convolutions with 1 input shape ran without it"
    main()
