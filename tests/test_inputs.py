"""What a repository can put in the place of a file that is read along with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.base.inputs import read, read_own
from torchlint.config import files
from torchlint.config.config import ConfigError
from torchlint.config.configurations import load

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")
READ_ALONG = (
    "pyproject.toml",
    "torchlint.toml",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "requirements-dev.txt",
    ".gitignore",
    "src/.gitignore",
)
BAD = "import numpy as np\nimport torch\n\nframe = torch.tensor(np.load('frame.npy')).to('cuda')\n"
BAD += "torch.backends.cudnn.enabled = False\n"


@pytest.mark.parametrize("target", ["/dev/stdin", "/dev/zero", "pipe"])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, target: str) -> None:
    """Standard input stays open, and nothing writes to the pipe."""
    for folder in (".git", "src"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src/train.py").write_text(BAD, encoding="utf-8")
    for name in READ_ALONG:
        if target == "pipe":
            os.mkfifo(tmp_path / name)
        else:
            (tmp_path / name).symlink_to(target)
    command = [sys.executable, "-m", "torchlint", "--output-format", "concise", "--show-info", "src"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.wait(120) == 1
        finally:
            running.kill()
        assert running.stdout is not None
        assert "src/train.py:4:" in running.stdout.read()


@pytest.mark.parametrize("option", ["--config", "--budget"])
def test_a_named_file_that_is_not_regular_is_refused(tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "settings.toml")
    with pytest.raises(ConfigError, match=r"settings\.toml: cannot be read \(not a regular file\)"):
        if option == "--config":
            load(tmp_path, explicit=tmp_path / "settings.toml")
        else:
            files.read_budget(str(tmp_path / "settings.toml"))


def test_what_a_shell_hands_over_is_read() -> None:
    """As in `--config <(command)`."""
    reading, writing = os.pipe()
    os.write(writing, b"ignore = []\n")
    os.close(writing)
    try:
        assert read(f"/dev/fd/{reading}", 100) == b"ignore = []\n"
    finally:
        os.close(reading)


def test_a_configuration_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.torchlint]\n" + b"#" * 1_000_000)
    with pytest.raises(ConfigError, match="is larger than 1 MB"):
        load(tmp_path)


def test_keys_of_many_parts_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's parser would take minutes for these."""
    monkeypatch.setattr(files, "_SECONDS", 0.3)
    (tmp_path / "torchlint.toml").write_text(".".join(["a"] * 60_000) + " = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="takes too long to be read"):
        load(tmp_path)


def test_no_more_is_read_than_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert [read(file, most) for most in (3, 9, 10, 11)] == [b"0123", *[b"0123456789"] * 3]


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_that_this_user_alone_has_written_is_read(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x")
    file.chmod(mode)
    assert read_own(file, 10) == b"x"
    if mode == 0o644:
        with pytest.raises(PermissionError):
            read_own(file, 10, secret=True)
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(OSError):
        read_own(tmp_path / "link", 10)
