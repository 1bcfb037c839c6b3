"""What other systems do differently, above all Windows: paths, open files, exit codes and the console."""

from __future__ import annotations

import ntpath
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchlint.base import files, paths
from torchlint.cli import output, terminal
from torchlint.cli.main import main
from torchlint.config.configurations import Configurations
from torchlint.confirm import launch
from torchlint.report import shared
from torchlint.run.discovery import discover

CODE = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device)\n"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths as Windows understands them."""
    monkeypatch.setattr(paths, "os", SimpleNamespace(path=ntpath, sep="\\"))


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("path", "relative", "shown"),
    [
        ("C:\\code\\proj\\src\\train.py", "src/train.py", "src/train.py"),
        ("c:\\Code\\PROJ\\src\\train.py", "src/train.py", "src/train.py"),  # drives and names ignore case
        ("C:\\code\\other\\train.py", "../other/train.py", "C:/code/other/train.py"),
        ("D:\\train.py", "D:/train.py", "D:/train.py"),
        ("\\\\server\\share\\train.py", "//server/share/train.py", "//server/share/train.py"),
    ],
)
def test_paths_of_windows_have_slashes_and_may_be_on_other_drives(path: str, relative: str, shown: str) -> None:
    assert paths.relative_to("C:\\code\\proj", path) == relative
    assert paths.shown(path, "C:\\code\\proj") == shown


def test_names_that_begin_with_dots_are_not_outside(tmp_path: Path) -> None:
    assert paths.below(str(tmp_path / "..data" / "train.py"), str(tmp_path)) == "..data/train.py"
    assert paths.below(str(tmp_path.parent), str(tmp_path)) is None
    assert paths.below(str(tmp_path.parent / "train.py"), str(tmp_path)) is None


@pytest.mark.parametrize("options", ["--diff", "--config settings.toml", "--baseline accepted.json --write-baseline"])
def test_files_on_another_drive_are_linted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: str
) -> None:
    def no_way(*_: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "settings.toml").write_text('exclude = ["build"]\nper-file-ignores = {"tests/*" = ["TL301"]}\n')
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(os.path, "relpath", no_way)
    given = [str(tmp_path / word) if "." in word else word for word in options.split()]
    status = main(["--no-cache", "--fail-on", "info", *given, str(tmp_path / "train.py")])
    assert status == (0 if "--write-baseline" in given else 1), capsys.readouterr()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("C:\\my code\\train.py", "file:///C:/my%20code/train.py"),
        ("\\\\server\\share\\train.py", "file://server/share/train.py"),
        ("src\\train.py", "src/train.py"),
    ],
)
def test_uris_of_windows_name_drives_and_servers(monkeypatch: pytest.MonkeyPatch, path: str, expected: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")  # pathlib asks for it, too
        found = shared.uri(path)
    assert found == expected


def test_folders_without_numbers_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network drives of Windows may number all files 0."""
    for name in ("a", "b/c"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "train.py").write_text(CODE)
    real = os.stat

    def unnumbered(path: str, **given: Any) -> os.stat_result:
        found = list(real(path, **given))
        found[1] = 0
        return os.stat_result(found)

    monkeypatch.setattr("torchlint.run.discovery.discover.os.stat", unnumbered)
    monkeypatch.chdir(tmp_path)
    assert discover.files(["."], Configurations("."), ".").files == ["a/train.py", "b/c/train.py"]


@pytest.mark.parametrize(("code", "status"), [(0, 0), (3, 3), (-9, 137), (0xC0000005, -0x3FFFFFFB), (2**32 - 1, -1)])
def test_every_way_in_which_a_program_ends_is_an_exit_status(code: int, status: int) -> None:
    """``os._exit`` takes 32 bits with a sign; crashes on Windows have codes without one."""
    assert launch._exit_status(code) == status
    assert status % 2**32 == code or code < 0


@pytest.mark.parametrize(("system", "times"), [("nt", 1), ("posix", 0)])
def test_the_console_of_windows_shows_colors(monkeypatch: pytest.MonkeyPatch, system: str, times: int) -> None:
    asked: list[None] = []
    colorama = SimpleNamespace(just_fix_windows_console=lambda: asked.append(None))
    monkeypatch.setitem(sys.modules, "colorama", colorama)
    monkeypatch.setattr(terminal, "os", SimpleNamespace(name=system, environ=os.environ))
    assert output.colored("always", to_file=False)
    assert output.colored("always", to_file=True)
    assert not output.colored("never", to_file=False)
    assert len(asked) == times


def test_a_file_that_another_run_holds_open_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not delete files that are open; POSIX has locks for that."""
    file = tmp_path / "train.py"
    file.write_bytes(b"old")
    (tmp_path / ".train.py.torchlint").write_bytes(b"of the other run")
    attempts: list[None] = []
    unlink = Path.unlink

    def refused(path: Path, **given: Any) -> None:
        attempts.append(None)
        if len(attempts) < 3:
            raise PermissionError(13, "Access is denied")
        unlink(path, **given)

    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        patch.setattr(Path, "unlink", refused)
        patch.setattr(files, "Path", lambda _: file)
        files.rewrite(file, b"old", b"new", [str(tmp_path)])
    assert file.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]
