"""What a run is said to show is what happened in it: in its torch, in its files, however they were started."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.companion_help import confirmed, run, verdict, write

LOOP = """
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(4, 4, device=device)).mean().backward()
    optimizer.step()
"""
READS = """
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def train():
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for _ in range(8):
        loss = model(torch.ones(2, 4, device=device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


def test_gradients_are_dropped_by_the_torch_that_ran_whatever_the_project_supports(tmp_path: Path) -> None:
    write(tmp_path, LOOP)
    chosen = ("--select", "TL601", "--preview", "--target-torch", "1.13", "--output-format", "json")
    linted = run(tmp_path, "-m", "torchlint", "--isolated", *chosen, "program.py")
    (tmp_path / "findings.json").write_text(linted.stdout, encoding="utf-8")
    found = verdict(confirmed(tmp_path, "--findings", "findings.json", "--", "program.py"), "TL601")
    assert found["status"] == "refuted"
    assert "8 calls, all of which drop the gradients in this torch" in found["reason"]


USES = """
import sys
import torch

{use}
"""


@pytest.mark.parametrize(
    ("use", "status", "reason"),
    [
        ("if len(sys.argv) > 9:\n    import helper", "not reached", "its file was never loaded in this run"),
        ("import helper", "not reached", "never evaluated in this run"),
        ("import helper\nhelper.train()", "confirmed", "8 synchronizations"),
        ("import runpy\nrunpy.run_path('helper.py')['train']()", "confirmed", "8 synchronizations"),
        ("import runpy\nrunpy.run_module('helper')['train']()", "confirmed", "8 synchronizations"),
        (
            "from runpy import run_path\nimport os\nrun_path(os.path.join(os.getcwd(), 'helper.py'))['train']()",
            "confirmed",
            "8 synchronizations",
        ),
        ("if len(sys.argv) > 9:\n    import helper\nexec(open('helper.py').read())", "unknown", "cannot be counted"),
    ],
)
def test_a_file_that_is_loaded_in_any_way_is_told_from_one_that_is_not(
    tmp_path: Path, use: str, status: str, reason: str
) -> None:
    write(tmp_path, READS, "helper.py")
    (tmp_path / "program.py").write_text(USES.lstrip().format(use=use), encoding="utf-8")
    found = verdict(confirmed(tmp_path, "--select", "TL301", "--", "program.py"), "TL301")
    assert (found["status"], reason in found["reason"]) == (status, True), found


def test_an_optimizer_that_another_file_steps_is_decided_and_no_other_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        def step(model, optimizer, x):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        """,
        "helper.py",
    )
    write(
        tmp_path,
        """
        import torch
        from helper import step

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(8, 8).to(device)
        other = torch.nn.Linear(8, 8).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        idle = torch.optim.AdamW(other.parameters())
        for _ in range(5):
            step(model, optimizer, torch.ones(2, 8, device=device))
        """,
    )
    found = confirmed(tmp_path, "--select", "TL603", "--", "program.py")["findings"]
    judged = {finding["line"]: (finding["verdict"]["status"], finding["verdict"]["reason"]) for finding in found}
    assert judged[7][0] == "confirmed"
    assert "5 calls of torch.optim.adam" in judged[7][1]
    assert judged[8][0] == "unknown"


BESIDE = """
import torch
from torch.distributions import Normal

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    noise = Normal(0, 1).sample((3, 2))
    mean = model(torch.ones(3, 4, device=device))
{loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ONE_LINE = "    loss = -Normal(mean, mean.exp()).log_prob(mean + noise.to(device)).mean()"
SEVERAL_LINES = """    policy = Normal(mean, mean.exp())
    loss = -policy.log_prob(
        mean + noise.to(device)
    ).mean()"""


@pytest.mark.parametrize("loss", [ONE_LINE, SEVERAL_LINES])
def test_a_copy_inside_a_call_that_waits_is_a_finding_about_the_copy_alone(tmp_path: Path, loss: str) -> None:
    write(tmp_path, BESIDE.format(loss=loss))
    document = confirmed(tmp_path, "--select", "TL202,TL307", "--", "program.py")
    assert verdict(document, "TL307")["count"] == 24
    assert verdict(document, "TL202")["count"] == 8
    assert document["unflagged"] == []


def test_what_a_factory_copies_to_the_device_is_not_listed_again(tmp_path: Path) -> None:
    made = "    made = torch.tensor(table, device=device).view(25, 4) / 9\n    optimizer.zero_grad()\n"
    steps = LOOP.replace("torch.randn(4, 4, device=device)", "made").replace("    optimizer.zero_grad()\n", made)
    write(tmp_path, f"table = list(range(100))\n{steps}")
    document = confirmed(tmp_path, "--select", "TL103", "--", "program.py")
    assert verdict(document, "TL103")["per_step"] == 1.0
    assert document["unflagged"] == []
