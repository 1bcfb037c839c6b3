import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(model, optimizer):
    loader = DataLoader(torch.ones(32, 8), batch_size=4)  # TL401 not reached "never evaluated"
    for x in loader:
        loss = model(x.to(device)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
