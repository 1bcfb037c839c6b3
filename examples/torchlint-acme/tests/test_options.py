"""What options change."""

from torchlint import Config, lint_source


def test_checkpoints_of_epochs_are_reported_on_request() -> None:
    source = """
import torch

for epoch in range(9):
    for x in torch.utils.data.DataLoader(data):
        model(x.cuda()).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), "last.pt")
"""
    assert not lint_source(source, config=Config(select=("ACME002",))).findings
    config = Config(select=("ACME002",), rules={"checkpoint-in-step": {"epochs": True}})
    assert [finding.span.line for finding in lint_source(source, config=config).findings] == [8]
