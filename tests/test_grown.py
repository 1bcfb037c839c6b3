"""Tensors that grow from step to step, found by following programs through several files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchlint.config.config import Config
from torchlint.run import session

MAIN = """
    import torch
    from attention import Attention

    @torch.no_grad()
    def generate(model, x):
        kept = None
        for _ in range(1000):
            {before}
            x, kept = model(x, kept)
        return x

    if __name__ == "__main__":
        generate(Attention().to("cuda"), torch.zeros(1, 1, 8, device="cuda"))
"""
ATTENTION = """
    import torch

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.key = torch.nn.Linear(8, 8)
            self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(4)])

        def forward(self, x, past):
            parts = []
            for number, layer in enumerate(self.layers):
                k = layer(x)
                if past is not None:
                    k = torch.cat([past[number], k], dim=1)
                x = torch.nn.functional.scaled_dot_product_attention(x, k, k)
                parts.append({kept})
            return x, parts
"""


def found(folder: Path, before: str = "pass", kept: str = "k") -> list[tuple[str, str]]:
    """Where something grows in a program and a model in another file, with the severity."""
    texts = {"main": MAIN.format(before=before), "attention": ATTENTION.format(kept=kept)}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    result = session.run(sorted(map(str, folder.glob("*.py"))), session.plan(Config(select=("TL108",))))
    return [(Path(finding.path).name, finding.severity.value) for finding in result.findings]


@pytest.mark.parametrize("given", [{"before": "kept = None"}, {"kept": "self.key(x)"}], ids=str)
def test_what_does_not_come_back_is_silent(tmp_path: Path, given: dict[str, str]) -> None:
    assert not found(tmp_path, **given)


@pytest.mark.parametrize("kept", ["k", "k[:, -64:]", "k.detach().contiguous()"])
def test_a_model_in_another_file_copies_its_keys_in_every_step(tmp_path: Path, kept: str) -> None:
    assert found(tmp_path, kept=kept) == [("attention.py", "warning")]


def test_keys_that_an_object_holds_grow_too(tmp_path: Path) -> None:
    assert found(tmp_path, before="state = {'k': kept}; kept = state['k']") == [("attention.py", "warning")]
