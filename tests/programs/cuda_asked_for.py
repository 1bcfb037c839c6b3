import torch

model = torch.nn.Linear(2, 2)
model.cuda()  # TL701 unknown "1 evaluation with CUDA" "`--on cpu` shows"
print(next(model.parameters()).device)
