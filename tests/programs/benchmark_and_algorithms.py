import torch

torch.backends.cudnn.benchmark = True
torch.use_deterministic_algorithms(True)  # TL502 confirmed "ran under benchmark=True and algorithms=True"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.nn.Conv2d(3, 4, 3).to(device)(torch.ones(1, 3, 8, 8, device=device)).sum())
