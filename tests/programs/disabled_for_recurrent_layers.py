import torch

torch.backends.cudnn.enabled = False  # TL503 confirmed "1 of 1 layer ran under enabled=False"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.nn.LSTM(3, 4).to(device)(torch.ones(2, 1, 3, device=device))[0].sum())
