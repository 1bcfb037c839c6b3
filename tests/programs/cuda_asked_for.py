import torch

model = torch.nn.Linear(2, 2)
model.cuda()  # TL701 confirmed "1 evaluation, each of which asks for CUDA"
print(next(model.parameters()).device)
