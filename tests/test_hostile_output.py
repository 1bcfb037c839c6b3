"""No name, source text or configuration can forge what torchlint says, in any format."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from tests import warm
from torchlint.cli.main import main
from torchlint.report import FORMATS
from torchlint.report.cells import wrapped
from torchlint.text.visible import visible

pytestmark = pytest.mark.skipif(os.name == "nt", reason="such names cannot be there")
#: ESC and BEL, a C1 control, bidirectional controls and marks, line separators, CR and LF, undecodable bytes.
EVIL = b"\x1b[2J\x07\xc2\x9b31m" + "\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u2028\u2029\x85".encode() + b"\xff"
FORGED = b"\r\n::error::forged\nforged.py:1:1: TL101 forged warning"
NAME = EVIL + FORGED.replace(b"/", b"") + b".py"
TEXT = EVIL[:-1].decode()
SOURCE = f"""\
import torch


class Net(torch.nn.Module):
    def forward(self, x, name='{TEXT}'):
        return torch.zeros(3, names=('{TEXT}',)).to(x.device)  # {TEXT}


def g(model):
    model.cuda('{TEXT}')
"""
SYNTAX = f"def (:\n    '{TEXT}'\n"
#: What GitHub Actions (after white space, or "##[" anywhere), Azure Pipelines and TeamCity take for a command.
COMMAND = re.compile(r"^\s*::|##(?:vso|teamcity)?\[", re.IGNORECASE | re.MULTILINE)
COMMAND_NAMES = (
    "::stop-commands::x.py",
    " \u034f::add-mask::x.py",  # comparisons that depend on a culture ignore U+034F
    "::error::.ipynb",
    "##vso[task.setvariable variable=a]b.py",
    "a##VSO[task.complete result=Failed]b.py",
    "#\u034f#vso[task.complete result=Failed]b.py",
    "##[group]c.py",
    "##teamcity[buildStatus text='d'].py",
)
COMMAND_SOURCE = """\
import torch

##vso[task.setvariable variable=a]b
class Net(torch.nn.Module):  ##vso[task.setvariable variable=a]b
    def forward(self, x):  ##[set-env name=a]b
        return torch.zeros(  ##vso[task.setvariable variable=a]b
            3, names=('''
::stop-commands::x
##vso[task.setvariable variable=a]b
''',)).to(x.device)  ##[set-env name=a]b


def g(model):
    model.cuda("##teamcity[a]")  ##vso[task.setvariable variable=a]b
"""


def torchlint(folder: Path, *arguments: bytes | str) -> subprocess.CompletedProcess[bytes]:
    return warm.torchlint(folder, "--no-cache", *arguments)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of files with hostile names and content."""
    for name, text in ((NAME, SOURCE), (b"b" + EVIL + b".py", SYNTAX), (b"c.py", SOURCE)):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(text.encode())
    (tmp_path / os.fsdecode(b"d" + EVIL)).mkdir()
    (tmp_path / os.fsdecode(b"d" + EVIL) / "gone.py").symlink_to(tmp_path / "nowhere")
    return tmp_path


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder of files whose names and source would be commands of CI systems."""
    folder = tmp_path / "::stop-commands::y"
    folder.mkdir()
    for name in COMMAND_NAMES:
        (folder / name).write_text(notebook(COMMAND_SOURCE) if name.endswith(".ipynb") else COMMAND_SOURCE)
        (tmp_path / name).write_text("import torch\ndef (:\n" if name.endswith(".py") else "[]")
    (tmp_path / "::debug::").mkdir()
    (tmp_path / "::debug::" / "##vso[gone].py").symlink_to(tmp_path / "nowhere")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (folder / "##[group]").symlink_to(outside)
    return tmp_path


def notebook(source: str) -> str:
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
    }
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]})


def assert_no_command(output: bytes) -> str:
    text = output.decode("utf-8").replace("\u034f", "")
    assert COMMAND.findall(text) == []
    return text


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
    done = warm.torchlint(tree, "--output-format", name, "--stdin-filename", NAME, "-", given=SOURCE.encode())
    assert_harmless(done.stdout + done.stderr)


def test_listed_files_are_a_line_each(tree: Path) -> None:
    (tree / os.fsdecode(b"d" + EVIL) / "gone.py").unlink()
    done = torchlint(tree, "--show-files", ".")
    assert len(assert_harmless(done.stdout).splitlines()) == 3
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_diff_has_no_headers_but_its_own(tree: Path) -> None:
    done = torchlint(tree, "--diff", "--unsafe-fixes", ".")
    assert_harmless(done.stderr)
    lines = done.stdout.split(b"\n")
    headers = [line for line in lines if line.startswith((b"--- ", b"+++ "))]
    assert len(headers) == 4  # of two files
    assert all(line.isascii() and b"\x1b" not in line for line in headers)
    assert all(line[:1] in (b"-", b"+", b"@", b" ", b"\\", b"") for line in lines)


def test_a_diff_on_a_terminal_steers_nothing(tree: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "torchlint", "--no-cache", "--diff", "--unsafe-fixes", "c.py"]
    subprocess.run(command, cwd=tree, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    assert b"device=x.device" in shown
    assert_harmless(shown.replace(b"\r\n", b"\n"))


EVERY_REPORT = [
    *((name, options) for name in FORMATS for options in (["-v", "--show-info"], ["--fix", "--unsafe-fixes", "-v"])),
    *((name, ["--statistics", "-v"]) for name in ("text", "concise")),
    ("concise", ["-q"]),
    ("text", ["-q", "--select", "ALL"]),
    ("text", ["--add-ignore"]),
]


@pytest.mark.parametrize(("name", "options"), EVERY_REPORT)
def test_no_line_of_a_report_is_a_command_of_a_ci_system(commands: Path, name: str, options: list[str]) -> None:
    given = [f"./{entry}" for entry in sorted(entry.name for entry in commands.iterdir())]
    done = torchlint(commands, "--output-format", name, *options, *given)
    out = done.stdout
    if name == "github":  # its lines are commands, each with a title of its own
        own = re.compile(rb"::(error|warning|notice) title=(TL\d{3} |torchlint,file=)")
        assert all(own.match(line) for line in out.split(b"\n")[:-1])
    else:
        assert_no_command(out)
    assert_no_command(done.stderr)
    assert b"stop-commands" in out or b"%3Astop-commands" in out or "--statistics" in options
    assert done.returncode == 2  # the files that cannot be parsed or read


@pytest.mark.parametrize("name", ["json", "gitlab", "sarif", "junit", "github"])
def test_formats_for_programs_keep_the_path(tmp_path: Path, name: str) -> None:
    path = "##vso[task.complete]b.py"
    (tmp_path / path).write_text(COMMAND_SOURCE)
    text = torchlint(tmp_path, "--output-format", name, path).stdout.decode()
    if name == "json":
        assert {each["path"] for each in json.loads(text)["findings"]} == {path}
    elif name == "gitlab":
        assert {each["location"]["path"] for each in json.loads(text)} == {path}
    elif name == "sarif":
        found = json.loads(text)["runs"][0]["results"]
        uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in found}
        assert uris == {quote(path)}
    elif name == "junit":
        assert {each.get("file") for each in ElementTree.fromstring(text).iter("testcase")} == {path}
    else:
        assert f",file={path}," in text


def test_a_name_that_would_be_a_command_is_shown_as_a_path_of_the_file(commands: Path) -> None:
    done = torchlint(commands, "--output-format", "concise", "--show-info", "::stop-commands::x.py")
    assert done.stdout.startswith(b"./::stop-commands::x.py:2:")


def test_no_wrapped_line_of_a_message_is_a_command() -> None:
    lines = wrapped(visible("a message about `x` ::error::forged and ##[set-env name=a]b ::stop-commands::x"), 20)
    assert len(lines) > 3
    assert_no_command("".join(f"  {line}\n" for line in lines).encode())


def test_ordinary_names_and_comments_are_shown_as_they_are(tmp_path: Path) -> None:
    code = "torch.zeros(3).to(x.device)  ## see [1], #[2] and a[::2]"
    (tmp_path / "#notes#.py").write_text(f"import torch\n\ndef f(x):\n    return {code}\n")
    text = torchlint(tmp_path, "--show-info", "#notes#.py").stdout.decode()
    assert text.startswith("#notes#.py:4:12: ")
    assert code in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["--show-files", "."],
        ["--show-settings", "--exclude", "##vso[a]b"],
        ["--select", "##vso[a]b"],
        ["--config", "##vso[a]b"],
        ["##vso[a]gone.py", "::error::gone.py"],
        ["--stdin-filename", "::error::##vso[a]b.py", "-"],
        ["rule", "##vso[a]b"],
        ["verdict", "##vso[a]b"],
        ["confirm", "--", "##vso[a]gone.py"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_other_line_is_a_command_of_a_ci_system(commands: Path, arguments: list[str]) -> None:
    done = warm.torchlint(commands, *arguments, given=COMMAND_SOURCE.encode())
    assert_no_command(done.stdout)
    assert_no_command(done.stderr)
    assert done.stdout + done.stderr


def test_the_names_in_a_diff_are_no_commands(commands: Path) -> None:
    """Its other lines are those of the files, which `git apply` needs."""
    done = torchlint(commands, "--diff", "--unsafe-fixes", "./::stop-commands::y")
    assert_no_command(done.stderr)
    headers = [line for line in done.stdout.splitlines() if line.startswith((b"--- ", b"+++ "))]
    assert len(headers) == 2 * len(COMMAND_NAMES)
    assert_no_command(b"\n".join(headers))


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
    done = warm.torchlint(tree, *arguments)
    assert done.returncode == 2
    assert_harmless(done.stdout + done.stderr)
    assert b"Traceback" not in done.stderr
