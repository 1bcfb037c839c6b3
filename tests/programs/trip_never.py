import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def unused(x):
    y = x.to(device)
    return y.cpu().to(device)  # TL201 not reached "never evaluated"


print(device)
