import torch

torch.backends.cudnn.enabled = False  # TL503 confirmed "1 of 1 layer ran under enabled=False"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.nn.Conv2d(3, 4, 3).to(device)(torch.ones(1, 3, 8, 8, device=device)).sum())
