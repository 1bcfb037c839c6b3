"""A loader for training and then one for an evaluation, each with one worker.

Arguments: how workers start (``fork`` or ``spawn``), and the memory of training batches (``pinned`` or ``pageable``).
"""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def main(start, memory):
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Linear(16, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(160, 16))
    training = DataLoader(
        data, batch_size=8, num_workers=1, pin_memory=memory == "pinned", multiprocessing_context=start
    )
    for (x,) in training:
        optimizer.zero_grad()
        loss = model(x.to(device, non_blocking=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
    evaluation = DataLoader(data, batch_size=8, num_workers=1, multiprocessing_context=start)
    total = torch.zeros((), device=device)
    with torch.no_grad():
        for (x,) in evaluation:
            total += model(x.to(device)).pow(2).mean()
    print(f"{total.item():.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
