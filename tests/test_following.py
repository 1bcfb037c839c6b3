"""Programs are followed through calls, objects and files: what runs in their steps, and on which device."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchlint import Config, lint_source
from torchlint.model import Finding
from torchlint.project.followed import FollowedFile, FollowedStep, digest, moved
from torchlint.run import session
from torchlint.run.cache import for_settings
from torchlint.run.session import Tree

READS = session.plan(Config(select=("TL301", "TL302", "TL303", "TL304"), preview=True))
TRAIN = """
    import argparse
    import torch
    from torch.utils.data import DataLoader
    from helpers import Net, note

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--debug", action="store_true")
        args = parser.parse_args()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = Net().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step, x in enumerate(DataLoader(torch.randn(32, 4), batch_size=4)):
            out = model(x.to(device))
            loss = out.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {call}

    if __name__ == "__main__":
        main()
"""
HELPERS = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.linear(x)

    def note(value, names=()):
        {body}
"""


def project(folder: Path, call: str, body: str, **files: str) -> list[str]:
    """Write a program that does something with ``out`` or ``loss`` in each step, and its helper; returns the paths."""
    texts = {"train": TRAIN.replace("{call}", call), "helpers": HELPERS.replace("{body}", body), **files}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    return sorted(str(path) for path in folder.glob("*.py"))


def found(paths: list[str]) -> list[Finding]:
    return list(session.run(paths, READS).findings)


def severities(folder: Path, call: str, body: str) -> list[str]:
    return [finding.severity.value for finding in found(project(folder, call, body))]


def test_a_helper_in_another_file_reads_what_a_step_passes_to_it(tmp_path: Path) -> None:
    (finding,) = found(project(tmp_path, "note(loss)", "print(value.item())"))
    assert Path(finding.path).name == "helpers.py"
    assert finding.severity.value == "warning"
    assert "`value.item()`: the host waits here for the device in every training step" in finding.message


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("note(loss.item())", "print(value)"),
        ("note(x)", "print(value.sum().item())"),
        ("note(out.shape)", "print(value)"),
        ("if step % 100 == 0: note(loss)", "print(value.item())"),
        ("if step < 10: note(loss)", "print(value.item())"),
        ("note(out)", "return [1] if value != [] else []"),
        ("note(out)", "return value is None or value == 'all'"),
    ],
    ids=["a number", "a batch on the host", "a shape", "every 100 steps", "the first steps", "a list", "a string"],
)
def test_what_does_not_wait_in_each_step_is_silent(tmp_path: Path, call: str, body: str) -> None:
    assert [f for f in found(project(tmp_path, call, body)) if Path(f.path).name == "helpers.py"] == []


def test_the_forward_of_a_model_in_the_same_file_is_part_of_the_step() -> None:
    text = TRAIN.replace("{call}", "pass").replace("    from helpers import Net, note\n", "")
    model = HELPERS.replace("{body}", "pass").replace("return self", "print(x.sum().item())\n            return self")
    (finding,) = lint_source(dedent(model) + dedent(text), config=READS.config).findings
    assert finding.span.line == 10
    assert "every training step" in finding.message


def test_what_an_option_switches_on_that_is_off_is_an_info(tmp_path: Path) -> None:
    (finding,) = found(project(tmp_path, "if args.debug: note(loss)", "print(value.item())"))
    assert finding.severity.value == "info"
    assert "only with `--debug`" in finding.message


def test_what_no_call_gets_to_is_silent(tmp_path: Path) -> None:
    assert severities(tmp_path, "note(loss, names=None)", "if names: print(value.cuda().item())") == []


def test_an_argument_that_selects_another_branch_is_followed(tmp_path: Path) -> None:
    body = "return value.item() if names == 'mean' else value"
    assert severities(tmp_path, "note(loss, 'none')", body) == []
    assert severities(tmp_path, "note(loss, 'mean')", body) == ["warning"]


def test_an_evaluation_is_not_a_training_step(tmp_path: Path) -> None:
    call = """
        if step == 0:
            with torch.no_grad():
                for y in DataLoader(torch.randn(32, 4), batch_size=4):
                    note(model(y.to(device)))"""
    assert severities(tmp_path, dedent(call).replace("\n", "\n            "), "print(value.sum().item())") == ["info"]


def test_code_of_a_dataset_runs_on_the_host(tmp_path: Path) -> None:
    data = """
        import torch
        from torch.utils.data import Dataset

        class Data(Dataset):
            def __len__(self):
                return 32

            def __getitem__(self, index):
                item = torch.randn(4)
                return item / item.norm().item()
    """
    paths = project(tmp_path, "pass", "pass", data=data)
    train = tmp_path / "train.py"
    text = train.read_text(encoding="utf-8")
    text = text.replace("from helpers", "from data import Data\nfrom helpers").replace("torch.randn(32, 4)", "Data()")
    train.write_text(text, encoding="utf-8")
    assert found(paths) == []


def test_a_loss_object_that_is_passed_to_a_trainer_is_followed(tmp_path: Path) -> None:
    """The trainer calls what its constructor stored."""
    trainer = """
        class Trainer:
            def __init__(self, model, criterion, optimizer, device):
                self.model, self.criterion, self.optimizer = model, criterion, optimizer
                self.device = device

            def fit(self, loader):
                for x in loader:
                    loss = self.criterion(self.model(x.to(self.device)))
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
    """
    criterion = """
        import torch

        class Criterion(torch.nn.Module):
            def forward(self, out):
                scale = float(out.abs().max())
                return out.mean() / scale
    """
    main = """
        import torch
        from torch.utils.data import DataLoader
        from criterion import Criterion
        from trainer import Trainer

        if __name__ == "__main__":
            device = torch.device("cuda")
            model = torch.nn.Linear(4, 1).to(device)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            Trainer(model, Criterion(), optimizer, device).fit(DataLoader(torch.randn(32, 4), batch_size=4))
    """
    for name, text in {"trainer": trainer, "criterion": criterion, "main": main}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    (finding,) = found(sorted(map(str, tmp_path.glob("*.py"))))
    assert Path(finding.path).name == "criterion.py"
    assert finding.span.line == 6


# -- the same result by every way ------------------------------------------------------------------


def test_an_edit_gives_what_a_new_run_gives(tmp_path: Path) -> None:
    paths = project(tmp_path, "note(loss)", "print(value.item())")
    tree = Tree(paths, READS)
    for name, old, new in [
        ("helpers.py", "import torch\n", "import torch\n# é\n\n"),
        ("train.py", "note(loss)", "note(x)"),
        ("train.py", "note(x)", "note(out)"),
        ("helpers.py", "value.item()", "'é', value.sum().item()"),
    ]:
        path = next(path for path in paths if path.endswith(name))
        data = tree.contents[path].decode().replace(old, new).encode()
        tree.update({path: data})
        Path(path).write_bytes(data)
        assert tree.result().findings == session.run(paths, READS).findings


def test_a_stored_result_is_used_only_while_the_program_is_the_same(tmp_path: Path) -> None:
    paths = project(tmp_path, "note(loss)", "print(value.item())")
    folder = str(tmp_path / "cache")
    cold = session.run(paths, READS, cache=for_settings(READS.rules, READS.scopes, folder))
    warm = session.run(paths, READS, cache=for_settings(READS.rules, READS.scopes, folder))
    assert warm.findings == cold.findings != ()
    assert warm.from_cache == 2
    train = tmp_path / "train.py"
    train.write_text(train.read_text(encoding="utf-8").replace("note(loss)", "note(x)"), encoding="utf-8")
    assert session.run(paths, READS, cache=for_settings(READS.rules, READS.scopes, folder)).findings == ()


def test_quick_parsing_finds_the_same_nodes(tmp_path: Path) -> None:
    paths = project(tmp_path, "note(loss)", "print('é', value.item(), (value + 1).tolist())")
    assert session.run(paths, READS._replace(exhaustive=True)).findings == session.run(paths, READS).findings != ()


@pytest.mark.parametrize(
    "text", ["def broken(:\n", "x = " + "(" * 400 + ")" * 400 + "\n", "\0", "x = " + "-" * 30_000 + "1\n"]
)
def test_a_file_that_cannot_be_followed_stops_nothing(tmp_path: Path, text: str) -> None:
    paths = project(tmp_path, "note(loss)", "print(value.item())", other=text)
    assert [f.rule for f in found(paths) if f.rule != "TL000"] == ["TL301"]


def test_recursive_and_circular_programs_end(tmp_path: Path) -> None:
    first = "import second\n\ndef go(x):\n    return second.go(x)\n\nif __name__ == '__main__':\n    go(1)\n"
    second = "import first\n\ndef go(x):\n    return first.go([x, go(x)]) if x else go((x, x))\n"
    paths = project(tmp_path, "note(loss)", "print(value.item())", first=first, second=second)
    assert [f.rule for f in found(paths)] == ["TL301"]


def test_what_is_known_of_lines_that_stay_outlasts_comments_and_insertions_elsewhere() -> None:
    before = b"import torch\n\ndef f(x):\n    y = x\n    return y.item()\n"
    place = (5, 11, 5, 12)
    known = FollowedFile(digest(before), ((place, "device"),), (FollowedStep(3, "training", ()),))
    commented = before.replace(b"y.item()", b"y.item()  # noqa: TL301").replace(b"y = x", b"y = x  # why")
    assert moved(known, before, commented).tensors == known.tensors
    inserted = moved(known, before, before.replace(b"import torch", b"import os\nimport torch"))
    assert (inserted.tensors, inserted.steps[0].line) == ((((6, 11, 6, 12), "device"),), 4)
    assert not moved(known, before, before.replace(b"return y", b"return z")).tensors
    assert not moved(known, before + b"\n", before)
