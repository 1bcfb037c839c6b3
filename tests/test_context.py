"""Files that are named are linted in the context of their project, and only they are reported."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from torchlint.api import lint_paths
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.run.discovery import context
from torchlint.server.folder import Folder
from torchlint.server.settings import Settings

TRAIN = """\
import torch
from pack.losses import loss_of

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    loss = loss_of(model(torch.randn(8, 4, device=device)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LOSSES = """\
from .shared import scale


def loss_of(out):
    loss = scale(out).mean()
    print(loss.item())
    return loss
"""
SHARED = "def scale(x):\n    return x * 2\n"
FIT = """\
import torch


def fit(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        print(loss.item())
        optimizer.step()
"""
SELECT = ("--select", "TL301", "--no-cache")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a program whose step reads in another file; the current folder is its root."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    for name, text in {"train.py": TRAIN, "pack/losses.py": LOSSES, "pack/shared.py": SHARED}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main([*SELECT, "--output-format", "json", *arguments])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[str, int, str]]:
    return [(f["path"], f["line"], f["severity"]) for f in report(capsys, *arguments)["findings"]]


READ = [("pack/losses.py", 6, "warning")]


@pytest.mark.usefixtures("project")
def test_a_named_file_gets_the_findings_of_a_run_over_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, ".") == READ
    assert found(capsys, "pack/losses.py") == READ
    assert found(capsys, "pack") == READ
    assert found(capsys, "pack/losses.py", "--no-context") == []


@pytest.mark.usefixtures("project")
def test_nothing_is_said_of_the_files_around(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(TRAIN + "    print(loss.item())\n", encoding="utf-8")
    assert len(found(capsys, ".")) == 2
    assert found(capsys, "pack/losses.py") == READ
    main([*SELECT, "pack/losses.py"])
    assert "Found 1 warning in 1 file" in capsys.readouterr().out


def test_the_current_folder_may_be_inside_of_the_project(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "pack")
    assert found(capsys, "losses.py") == [("losses.py", 6, "warning")]
    assert found(capsys, str(project / "pack" / "losses.py")) == [(f"{project}/pack/losses.py", 6, "warning")]


@pytest.mark.usefixtures("project")
def test_standard_input_is_linted_in_place_of_its_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(*more: str) -> list[tuple[str, int, str]]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(("\n" + LOSSES).encode())))
        return found(capsys, "-", "--stdin-filename", "pack/losses.py", *more)

    assert piped() == [("pack/losses.py", 7, "warning")]
    assert piped("--no-context") == []


@pytest.mark.usefixtures("project")
def test_only_what_is_named_is_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    copies = "import numpy as np\nimport torch\n\n\ndef read(path):\n    return torch.tensor(np.load(path))\n"
    for name in ("train.py", "pack/shared.py"):
        Path(name).write_text(copies + Path(name).read_text(encoding="utf-8"), encoding="utf-8")
    main(["--select", "TL101", "--no-cache", "--fix", "pack/shared.py"])
    assert "1 fixed" in capsys.readouterr().out
    assert "as_tensor" in Path("pack/shared.py").read_text(encoding="utf-8")
    assert "as_tensor" not in Path("train.py").read_text(encoding="utf-8")


@pytest.mark.usefixtures("project")
def test_the_project_is_what_is_below_the_nearest_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pack/torchlint.toml").write_text('select = ["TL301"]\n', encoding="utf-8")
    assert found(capsys, "pack/losses.py") == []


@pytest.mark.usefixtures("project")
def test_a_wrong_configuration_elsewhere_leaves_out_its_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").mkdir()
    Path("other/torchlint.toml").write_text("[rules.hardcoded-cuda]\nnonsense = 1\n", encoding="utf-8")
    Path("other/more.py").write_text("import train\n", encoding="utf-8")
    assert found(capsys, "pack/losses.py") == READ


def test_the_report_says_what_has_no_context(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "_MOST_BYTES", 3)
    main([*SELECT, "pack/losses.py"])
    assert "Linted without the rest of the project: . has more than 0 MB of code." in capsys.readouterr().out
    (project / ".git").rmdir()
    main([*SELECT, "pack/losses.py"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Linted without the files around: pack/losses.py is in no repository, and below no configuration" in said
    main([*SELECT, "."])
    assert "Linted without" not in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_a_computed_import_connects_a_program_with_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    program = TRAIN.replace("from pack.losses import loss_of", "import importlib")
    program = program.replace("loss_of(", 'importlib.import_module("pack.losses").loss_of(')
    Path("train.py").write_text(program, encoding="utf-8")
    assert found(capsys, "pack/losses.py") == READ


@pytest.mark.usefixtures("project")
def test_programs_say_nothing_of_files_that_no_import_connects_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("alone.py").write_text(FIT, encoding="utf-8")
    assert ("alone.py", 8, "warning") in found(capsys, ".")


def test_the_function_for_other_programs_has_the_same_context(project: Path) -> None:
    config = Config(select=("TL301",), root=str(project))
    assert [f.span.line for f in lint_paths("pack/losses.py", config).findings] == [6]
    assert lint_paths("pack/losses.py", config, context=False).findings == ()


def test_a_folder_in_an_editor_may_be_part_of_a_project(project: Path) -> None:
    folder = Folder(str(project / "pack"), Settings(select=("TL301",)))
    folder.scan(folder.files(), lambda _: None, lambda: None)
    path = str(project / "pack" / "losses.py")
    assert [f.span.line for f in folder.lint(path, LOSSES.encode()).findings] == [6]
    folder.follow({path: f"\n{LOSSES}".encode()}, [], search=True)
    assert [f.span.line for f in folder.lint(path, f"\n{LOSSES}".encode()).findings] == [7]
    assert folder.tree is not None
    assert str(project / "train.py") in folder.tree.contents
    result = folder.result()
    assert result is not None
    assert {f.path for f in result.findings} == {path}
