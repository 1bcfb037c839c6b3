"""No name, source text or configuration can forge what torchlint says, in any format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from torchlint.cli.main import main
from torchlint.report import FORMATS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="such names cannot be there")
ROOT = Path(__file__).resolve().parents[1]
#: ESC and BEL, a C1 control, bidirectional controls and marks, line separators, CR and LF, undecodable bytes.
EVIL = b"\x1b[2J\x07\xc2\x9b31m" + "\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u2028\u2029\x85".encode() + b"\xff"
FORGED = b"\r\n::error::forged\nforged.py:1:1: TL101 forged warning"
NAME = EVIL + FORGED.replace(b"/", b"") + b".py"
TEXT = EVIL[:-1].decode()
SOURCE = f"""\
import torch


def f(device, name='{TEXT}'):
    return torch.zeros(3, names=('{TEXT}',)).to(device)  # {TEXT}


def g(model):
    model.cuda('{TEXT}')
"""
SYNTAX = f"def (:\n    '{TEXT}'\n"


def torchlint(folder: Path, *arguments: bytes | str) -> subprocess.CompletedProcess[bytes]:
    command: list[bytes | str] = [sys.executable, "-m", "torchlint", "--no-cache", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of files with hostile names and content."""
    for name, text in ((NAME, SOURCE), (b"b" + EVIL + b".py", SYNTAX), (b"c.py", SOURCE)):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(text.encode())
    (tmp_path / os.fsdecode(b"d" + EVIL)).mkdir()
    (tmp_path / os.fsdecode(b"d" + EVIL) / "gone.py").symlink_to(tmp_path / "nowhere")
    return tmp_path


def assert_harmless(output: bytes) -> str:
    text = output.decode("utf-8")  # strictly
    steering = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert steering == set()
    assert not [line for line in text.splitlines() if line.startswith(("::error::forged", "forged.py"))]
    return text


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, options) for name in FORMATS for options in (["-v"], ["--fix", "--unsafe-fixes", "-v"])),
        *((name, ["--statistics", "-v"]) for name in ("text", "concise")),
    ],
)
def test_names_and_source_cannot_forge_a_report(tree: Path, name: str, options: list[str]) -> None:
    done = torchlint(tree, "--output-format", name, *options, ".")
    text = assert_harmless(done.stdout)
    assert assert_harmless(done.stderr) == ""
    assert done.returncode == 2  # the link to nowhere
    if name in ("json", "sarif", "gitlab"):
        json.loads(text)
    elif name == "junit":
        ElementTree.fromstring(text)


@pytest.mark.parametrize("name", FORMATS)
def test_a_forged_name_of_standard_input_is_harmless(tree: Path, name: str) -> None:
    command: list[bytes | str] = ["--output-format", name, "--stdin-filename", NAME, "-"]
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", *command], cwd=tree, input=SOURCE.encode(), capture_output=True, check=False
    )
    assert_harmless(done.stdout + done.stderr)


def test_listed_files_are_a_line_each(tree: Path) -> None:
    (tree / os.fsdecode(b"d" + EVIL) / "gone.py").unlink()
    done = torchlint(tree, "--show-files", ".")
    assert len(assert_harmless(done.stdout).splitlines()) == 3
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_diff_has_no_headers_but_its_own(tree: Path) -> None:
    done = torchlint(tree, "--diff", ".")
    assert_harmless(done.stderr)
    lines = done.stdout.split(b"\n")
    headers = [line for line in lines if line.startswith((b"--- ", b"+++ "))]
    assert len(headers) == 4  # of two files
    assert all(line.isascii() and b"\x1b" not in line for line in headers)
    assert all(line[:1] in (b"-", b"+", b"@", b" ", b"\\", b"") for line in lines)


def test_a_diff_on_a_terminal_steers_nothing(tree: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "torchlint", "--no-cache", "--diff", "c.py"]
    subprocess.run(command, cwd=tree, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    assert b"device=device" in shown
    assert_harmless(shown.replace(b"\r\n", b"\n"))


CONFIGURATIONS = [
    f'select = ["{TEXT}"]',
    f'"{TEXT}" = 1',
    f'target-torch = "{TEXT}"',
    f'fail-on = "{TEXT}"',
    f'exclude = ["{TEXT}"]',
    f'[per-file-ignores]\n"{TEXT}" = ["{TEXT}"]',
    f'[rules."{TEXT}"]\n"{TEXT}" = 1',
    f'[rules.hardcoded-cuda]\n"{TEXT}" = 1',
    f'[rules.hardcoded-cuda]\nportable = "{TEXT}"',
    f'[budget]\n"{TEXT}" = 1',
    f"{TEXT} = ",
]


@pytest.mark.parametrize("settings", CONFIGURATIONS, ids=range(len(CONFIGURATIONS)))
@pytest.mark.parametrize("escaped", [False, True])
def test_a_configuration_cannot_forge_anything(
    tree: Path,
    settings: str,
    escaped: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """As it stands, where TOML forbids most of it, and written with TOML's own escapes."""
    if escaped:
        settings = "".join(c if c == "\n" or c.isprintable() else f"\\u{ord(c):04x}" for c in settings)
    (tree / "torchlint.toml").write_bytes(settings.encode())
    monkeypatch.chdir(tree)
    for option in ("--show-settings", "--no-cache"):
        status = main([option, "c.py"])
        out, error = capsysbinary.readouterr()
        assert_harmless(out + error)
        assert error.count(b"\n") == (status == 2)


@pytest.mark.parametrize(
    "arguments",
    [
        [NAME + b"gone"],
        ["--config", NAME + b"gone"],
        ["--select", EVIL],
        ["--per-file-ignores", EVIL],
        ["--target-torch", EVIL],
        ["--jobs", EVIL],
        ["--output-format", EVIL],
        ["--output-file", b"no/" + NAME, "c.py"],
        ["--show-files", NAME + b"gone"],
        ["rule", EVIL],
        ["verdict", NAME],
        ["confirm", "--", NAME + b"gone"],
        [b"--" + NAME],
    ],
    ids=lambda arguments: str(arguments[0])[:12],
)
def test_errors_are_harmless(tree: Path, arguments: list[bytes | str]) -> None:
    command = [sys.executable, "-m", "torchlint", *arguments]
    done = subprocess.run(command, cwd=tree, capture_output=True, check=False)
    assert done.returncode == 2
    assert_harmless(done.stdout + done.stderr)
    assert b"Traceback" not in done.stderr
