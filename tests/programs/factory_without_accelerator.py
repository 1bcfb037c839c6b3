# on: cpu
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
for _ in range(3):
    x = torch.zeros(4, 8).to(device)  # TL104 unknown "no accelerator in this run"
print(x.sum())
