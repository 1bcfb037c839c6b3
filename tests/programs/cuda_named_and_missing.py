# on: cpu
import torch

device = torch.device("cuda")  # TL701 confirmed "without a GPU, the program ends at cuda_named_and_missing.py:6"
model = torch.nn.Linear(2, 2)
model.to(device)
