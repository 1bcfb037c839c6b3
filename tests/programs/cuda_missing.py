# on: cpu
import torch

model = torch.nn.Linear(2, 2)
model.cuda()  # TL701 confirmed "without a GPU, the program ends at cuda_missing.py:5"
print(next(model.parameters()).device)
