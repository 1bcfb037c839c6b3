"""``--fix`` and ``--diff`` on files, as their users meet them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests import warm
from torchlint.base import files
from torchlint.base.files import NotWritten, rewrite
from torchlint.cli.main import main

GUILTY = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device)  # here\n"
FIXED = "import torch\n\n\ndef f(x):\n    return torch.zeros(3, device=x.device)  # here\n"
UNSAFE = """import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.randn(3).to(x.device)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with something to repair."""
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    (tmp_path / "unsafe.py").write_text(UNSAFE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.py"))}


def test_fix_repairs_what_is_safe_and_counts_the_rest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--fix", "--no-cache", "."]) == 0
    assert (folder / "guilty.py").read_text(encoding="utf-8") == FIXED
    assert (folder / "unsafe.py").read_text(encoding="utf-8") == UNSAFE
    assert "1 fixed, 1 needs --unsafe-fixes." in capsys.readouterr().out


def test_the_second_run_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--fix", "--unsafe-fixes", "."])
    before, times = content(folder), [p.stat().st_mtime_ns for p in sorted(folder.glob("*.py"))]
    capsys.readouterr()
    main(["--fix", "--unsafe-fixes", "."])
    assert (content(folder), [p.stat().st_mtime_ns for p in sorted(folder.glob("*.py"))]) == (before, times)
    assert "0 fixed." in capsys.readouterr().out


PAGEABLE = """import torch
from torch.utils.data import DataLoader

for images in DataLoader(data, num_workers=2):
    loss = model(images.to("cuda")).mean()
    loss.backward()
    optimizer.step()
"""


def test_the_status_is_that_of_what_remains(folder: Path) -> None:
    (folder / "warned.py").write_text(PAGEABLE, encoding="utf-8")
    assert main(["--fix", "--no-cache", "guilty.py"]) == 0
    assert main(["--fix", "--no-cache", "--fail-on", "info", "unsafe.py"]) == 1
    assert main(["--fix", "--no-cache", "warned.py"]) == 1
    assert main(["--fix", "--unsafe-fixes", "--no-cache", "warned.py"]) == 0


@pytest.mark.usefixtures("folder")
def test_unsafe_fixes_alone_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--unsafe-fixes", "."]) == 2
    assert "--fix" in capsys.readouterr().err


def test_verbose_says_what_was_fixed_where(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--fix", "-v", "--no-cache", str(folder)])
    assert "guilty.py: 1 x TL104 factory-then-move" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_json_counts_what_was_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--fix", "--no-cache", "--output-format", "json", "."])
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["fixed"] == 1
    assert document["summary"]["fixable"] == 1


# -- diffs -----------------------------------------------------------------------------------------


def diff(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return warm.torchlint(Path.cwd(), "--diff", "--no-cache", *arguments)


def test_a_diff_changes_nothing_and_has_status_1(folder: Path) -> None:
    before = content(folder)
    done = diff(".")
    assert done.returncode == 1
    assert content(folder) == before
    assert b"-    return torch.zeros(3).to(x.device)  # here\n" in done.stdout
    assert done.stderr == b"1 would be fixed, 1 needs --unsafe-fixes.\n"
    assert diff("unsafe.py").returncode == 0


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "--strip=1", "--quiet"]], ids=["git", "patch"])
def test_git_and_patch_apply_a_diff_to_odd_files(folder: Path, tool: list[str]) -> None:
    (folder / "sub dir").mkdir()
    odd = {
        "sub dir/with space.py": GUILTY.encode(),
        "größe.py": GUILTY.encode(),
        "windows.py": GUILTY.replace("\n", "\r\n").encode(),
        "open_end.py": GUILTY.rstrip("\n").encode(),
        "latin.py": b"# -*- coding: latin-1 -*-\n# gr\xf6\xdfe\n" + GUILTY.encode(),
        "form.py": b"\x0c\n" + GUILTY.encode(),
    }
    for name, data in odd.items():
        (folder / name).write_bytes(data)
    patch = diff(".").stdout
    subprocess.run([*tool], input=patch, cwd=folder, check=True)
    patched = content(folder)
    for name, data in odd.items():
        (folder / name).write_bytes(data)
    (folder / "guilty.py").write_text(GUILTY, encoding="utf-8")
    main(["--fix", "--no-cache", "."])
    assert content(folder) == patched
    assert patched["open_end.py"].endswith(b"# here")


# -- standard input --------------------------------------------------------------------------------


def piped(*arguments: str, text: bytes) -> subprocess.CompletedProcess[bytes]:
    return warm.torchlint(Path.cwd(), "--no-context", *arguments, "-", given=text)


def test_standard_input_comes_back_repaired_and_the_rest_is_said_beside_it() -> None:
    done = piped("--fix", text=GUILTY.encode())
    assert done.stdout == FIXED.encode()
    assert b"1 fixed." in done.stderr
    assert done.returncode == 0
    unchanged = b"import torch\r\nx = 1"
    assert piped("--fix", text=unchanged).stdout == unchanged


def test_a_diff_of_standard_input_is_printed() -> None:
    done = piped("--diff", "--stdin-filename", "model.py", text=GUILTY.encode())
    assert done.stdout.startswith(b"--- a/model.py\n+++ b/model.py\n")
    assert done.returncode == 1


# -- files that cannot be written ------------------------------------------------------------------


def test_mode_and_time_are_those_of_a_rewritten_file(folder: Path) -> None:
    file = folder / "guilty.py"
    file.chmod(0o754)
    os.utime(file, (1, 1))
    main(["--fix", "--no-cache", "."])
    assert stat.S_IMODE(file.stat().st_mode) == 0o754
    assert file.stat().st_mtime > 1
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


def test_a_read_only_file_is_reported_and_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "guilty.py"
    file.chmod(0o444)
    assert main(["--fix", "--no-cache", "."]) == 2
    out = capsys.readouterr().out
    assert "guilty.py: error: is read-only; make it writable to have it fixed" in out
    assert "0 fixed, 1 needs --unsafe-fixes, 1 skipped: not written." in out
    assert file.read_text(encoding="utf-8") == GUILTY


def test_a_file_that_another_program_changes_meanwhile_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "guilty.py"

    def another_program(target: Path, before: os.stat_result) -> None:
        file.write_text("changed = True\n", encoding="utf-8")
        own(target, before)

    own = files._like
    monkeypatch.setattr(files, "_like", another_program)
    assert main(["--fix", "--no-cache", "."]) == 2
    assert file.read_text(encoding="utf-8") == "changed = True\n"
    assert "was changed by another program" in capsys.readouterr().out
    assert list(folder.glob(".*")) == []


def test_a_full_disk_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["--fix", "--no-cache", "."]) == 2
    assert (folder / "guilty.py").read_text(encoding="utf-8") == GUILTY
    assert list(folder.glob(".*")) == []


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_kept_and_one_that_leaves_the_tree_is_not_followed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "other.py"
    outside.write_text(GUILTY, encoding="utf-8")
    (folder / "out.py").symlink_to(outside)
    (folder / "guilty.py").rename(folder / "real.txt")
    (folder / "in.py").symlink_to("real.txt")
    assert main(["--fix", "--no-cache", "in.py", "out.py"]) == 2
    assert (folder / "in.py").is_symlink()
    assert (folder / "real.txt").read_text(encoding="utf-8") == FIXED
    assert outside.read_text(encoding="utf-8") == GUILTY


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize(
    ("named", "status", "followed"),
    [
        ([], 0, False),  # not even searched
        (["."], 0, False),
        (["linked"], 2, False),
        (["linked/other.py"], 2, False),
        (["{folder}/linked/other.py"], 2, False),
        (["{outside}"], 0, True),
        (["{outside}/other.py"], 0, True),
        (["{elsewhere}/linked"], 0, True),
    ],
)
def test_a_linked_folder_is_followed_only_from_outside_of_the_tree(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, named: list[str], status: int, followed: bool
) -> None:
    """Pointing at a folder by its own name, or through links far away such as a linked home, is meant."""
    outside, elsewhere = tmp_path_factory.mktemp("outside"), tmp_path_factory.mktemp("elsewhere")
    (outside / "other.py").write_text(GUILTY, encoding="utf-8")
    for place in (folder, elsewhere):
        (place / "linked").symlink_to(outside)
    paths = [name.format(folder=folder, outside=outside, elsewhere=elsewhere) for name in named]
    assert main(["--fix", "--no-cache", *paths]) == status
    assert (outside / "other.py").read_text(encoding="utf-8") == (FIXED if followed else GUILTY)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_inside_of_a_configured_project_are_followed(folder: Path) -> None:
    (folder / "torchlint.toml").write_text("", encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "lib").mkdir()
    (folder / "lib" / "real.py").write_text(GUILTY, encoding="utf-8")
    (folder / "src" / "linked").symlink_to(folder / "lib")
    assert main(["--fix", "--no-cache", "src"]) == 0
    assert (folder / "lib" / "real.py").read_text(encoding="utf-8") == FIXED


def test_rewriting_says_why_it_does_not(tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match="cannot be written: No such file"):
        rewrite(tmp_path / "gone.py", b"", b"x", [str(tmp_path)])


# -- several files ---------------------------------------------------------------------------------


def test_a_fix_in_one_file_counts_in_the_others(folder: Path) -> None:
    """The pair of flags stands in two files: repairing one makes the other right."""
    (folder / "seeds.py").write_text(
        "import torch\n\n\ndef seed_all():\n    torch.manual_seed(0)\n    torch.backends.cudnn.deterministic = True\n",
        encoding="utf-8",
    )
    main_text = (
        "import torch\nfrom seeds import seed_all\n\nseed_all()\ntorch.backends.cudnn.benchmark = True\n"
        "model = torch.nn.Conv2d(3, 3, 3)\n"
    )
    (folder / "run.py").write_text(main_text, encoding="utf-8")
    (folder / "torchlint.toml").write_text(
        'select = ["TL501"]\n[rules.benchmark-with-deterministic]\nprefer = "reproducible"\n', encoding="utf-8"
    )
    assert main(["--fix", "--unsafe-fixes", "--no-cache", "."]) == 0
    assert "benchmark = False" in (folder / "run.py").read_text(encoding="utf-8")
    assert main(["--no-cache", "."]) == 0
