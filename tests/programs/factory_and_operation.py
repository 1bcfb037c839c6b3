import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def mask():
    return torch.ones(8, 8).tril().to(device)  # TL104 unknown "what is copied at factory_and_operation.py:7 was computed"


for _ in range(3):
    x = mask()
print(x.sum())
