"""A step of training that is captured once as a CUDA graph, and replayed.

The captured step is the eighth: torchlint times every fourth one on the device, and must not do so during a capture.
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(16, 16).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(8, 16, device=device)


def step():
    optimizer.zero_grad(set_to_none=False)
    loss = model(data).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss


# No step before the capture may be on its stream, nor keep its graph.
side = torch.cuda.Stream() if torch.cuda.is_available() else None
with torch.cuda.stream(side):
    for _ in range(7):
        step()
if torch.cuda.is_available():
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(20):
        graph.replay()
else:
    loss = step()
print(loss.item())
