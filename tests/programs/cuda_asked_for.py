import torch

model = torch.nn.Linear(2, 2)
model.cuda()  # TL701 confirmed "1 evaluation, in a run that used CUDA"
print(next(model.parameters()).device)
