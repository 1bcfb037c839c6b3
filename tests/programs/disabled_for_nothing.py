import torch

torch.backends.cudnn.enabled = False  # TL503 refuted "no layer ran on the device"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.nn.Linear(3, 4).to(device)(torch.ones(1, 3, device=device)).sum())
