"""Imports that no folder above a file answers: of packages in `src`, and of folders that programs put on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found
from torchlint.project.definitions import Definitions
from torchlint.project.outline import Outlines


def module(paths: list[str], asking: str, dotted: str) -> str | None:
    return Definitions(paths, Outlines({})).module(asking, dotted)


@pytest.mark.parametrize(
    ("paths", "dotted", "expected"),
    [
        (["core/raft.py"], "raft", "core/raft.py"),
        (["lib/models/__init__.py"], "models", "lib/models/__init__.py"),
        (["lib/models/unet.py", "lib/other/unet.py"], "models.unet", "lib/models/unet.py"),
        (["src/my_package/a.py"], "my_package.a", "src/my_package/a.py"),
        # the library itself, in its own repository
        (["src/timm/__init__.py", "src/timm/data.py"], "timm.data", "src/timm/data.py"),
        # as near as the other one, or of a library
        (["one/models.py", "two/models.py"], "models", None),
        (["core/datasets.py"], "datasets", None),
        (["core/logging.py"], "logging", None),
        (["core/praft.py"], "raft", None),
        (["core/models/a.py"], "models.b", None),
    ],
)
def test_a_module_that_is_in_no_folder_above_is_the_only_file_with_its_name(
    paths: list[str], dotted: str, expected: str | None
) -> None:
    assert module([*paths, "tools/train.py"], "tools/train.py", dotted) == expected


def test_of_several_the_nearest_is_meant() -> None:
    paths = ["one/lib/models.py", "two/lib/models.py", "two/tools/train.py"]
    assert module(paths, "two/tools/train.py", "models") == "two/lib/models.py"


def test_what_is_beside_the_importing_file_comes_first() -> None:
    assert (
        module(["core/models.py", "tools/models.py", "tools/train.py"], "tools/train.py", "models") == "tools/models.py"
    )


def test_a_helper_in_a_folder_that_the_program_puts_on_the_path_runs_in_every_step(tmp_path: Path) -> None:
    train = """
        import sys
        import torch
        sys.path.append("core")
        from reports import report

        def main(model, loader, device):
            model.cuda()
            for x in loader:
                loss = model(x.cuda()).mean()
                loss.backward()
                report(loss)

        main(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")), "cuda")
    """
    report = """
        import torch

        def report(loss):
            print(loss.item())
    """
    files = {"tools/train.py": train, "core/reports.py": report}
    assert [(f.path, f.span.line) for f in found(tmp_path, files, "TL301")] == [(str(tmp_path / "core/reports.py"), 5)]
