import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Mask(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(8, 8).tril().to(device)  # TL104 unknown "what is copied at factory_and_operation.py:8 was computed"


model, x = Mask(), torch.ones(8, 8, device=device)
for _ in range(3):
    x = model(x)
print(x.sum())
