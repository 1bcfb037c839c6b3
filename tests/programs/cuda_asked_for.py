import torch

model = torch.nn.Linear(2, 2)
model.cuda()  # TL701 unknown "it ran with CUDA" "`--on cpu` shows"
print(next(model.parameters()).device)
