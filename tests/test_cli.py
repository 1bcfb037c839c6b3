"""The command line as its users meet it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torchlint import __version__
from torchlint.cli.main import main

GUILTY = "import torch\ndef f(x, device):\n    return x.cpu().clamp(0, 1).to(device)\n"
TORCHLINT = [sys.executable, "-m", "torchlint"]
# Runs torchlint, whose two processes say so when they lint a file, and never come to its end.
NEVER_ENDS = """
import os, pathlib, sys, time
from torchlint.__main__ import run
from torchlint.analysis.module import SourceModule

def parse(*_, **__):
    pathlib.Path(f"linted-by-{os.getpid()}").touch()
    time.sleep(1000)

SourceModule.parse = parse
sys.exit(run())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a clean and a guilty file."""
    (tmp_path / "clean.py").write_text("import torch\n", encoding="utf-8")
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def torchlint(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [*TORCHLINT, *arguments], input=stdin, capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.usefixtures("folder")
def test_a_clean_file_is_status_0_and_a_finding_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean.py"]) == 0
    assert main(["guilty.py"]) == 1
    assert "guilty.py:3:12: TL201 device-round-trip" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_without_a_path_the_current_folder_is_linted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert "in 2 files" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--exit-zero"], 0),
        (["--fail-on", "error"], 0),
        (["--fail-on", "never"], 0),
        (["--fail-on", "info"], 1),
        (["--ignore", "TL201"], 0),
        (["--select", "copies,TL2"], 1),
        (["--select", "copies"], 0),
        (["--select", "copies", "--extend-select", "device-round-trip"], 1),
        (["--per-file-ignores", "guilty.py:TL2"], 0),
        (["--exclude", "guilty.py"], 1),
        (["--exclude", "guilty.py", "--force-exclude"], 0),
        (["--jobs", "2"], 1),
        (["--no-cache"], 1),
    ],
)
def test_options_decide_what_is_found_and_what_fails(options: list[str], status: int) -> None:
    assert main([*options, "guilty.py"]) == status


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.py"], "gone.py"),
        (["--select", "TL2O1", "."], "'TL2O1'"),
        (["--select", "", "."], "--select: names no rule"),
        (["--ignore", " , ", "."], "--ignore: names no rule"),
        (["--per-file-ignores", "clean.py:", "."], "--per-file-ignores: names no rule"),
        (["--select", "device-roundtrip", "."], "'device-round-trip'"),
        (["--per-file-ignores", "nonsense", "."], "GLOB:RULES"),
        (["--config", "gone.toml", "."], "gone.toml"),
        (["--config", "gone.toml", "--isolated", "."], "--isolated"),
        (["--jobs", "0", "."], "1 or more"),
        (["--target-torch", "new", "."], "--target-torch"),
        (["--output-format", "xml", "."], "xml"),
        (["--no-such-option"], "--no-such-option"),
        (["-", "clean.py"], "standard input"),
        (["rule", "device-roundtrip"], "'device-round-trip'"),
    ],
)
def test_what_cannot_be_done_is_status_2_with_a_reason(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(arguments)
    except SystemExit as left:
        status = int(left.code or 0)
    output = capsys.readouterr()
    assert status == 2
    assert words in output.err + output.out
    assert "Traceback" not in output.err


def test_a_wrong_configuration_is_one_line_with_file_key_and_suggestion(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "torchlint.toml").write_text("ignroe = ['TL2']\n", encoding="utf-8")
    assert main(["clean.py"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("torchlint: error: ")
    assert error.count("\n") == 1
    assert "torchlint.toml" in error
    assert "'ignore'" in error


@pytest.mark.usefixtures("folder")
def test_standard_input_is_reported_under_the_given_name() -> None:
    done = torchlint("-", "--stdin-filename", "sub/module.py", "--output-format", "concise", stdin=GUILTY)
    assert done.returncode == 1
    assert done.stdout.startswith("sub/module.py:3:12: ")


@pytest.mark.usefixtures("folder")
def test_a_name_for_standard_input_is_enough_to_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    done = torchlint("--stdin-filename", "sub/module.py", "--output-format", "concise", stdin=GUILTY)
    assert (done.returncode, done.stdout.startswith("sub/module.py:3:12: ")) == (1, True)
    assert main(["--stdin-filename", "sub/module.py", "clean.py"]) == 2
    assert "leave it out to lint paths" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_json_is_the_documented_document(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--output-format", "json", "."])
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["torchlint"]) == (1, __version__)
    (finding,) = document["findings"]
    assert (finding["rule"], finding["line"], finding["column"]) == ("TL201", 3, 12)
    edits = [
        {"cell": None, "line": 3, "column": column, "end_line": 3, "end_column": end, "text": ""}
        for column, end in ((13, 19), (31, 42))
    ]
    assert (finding["fix"]["safety"], finding["fix"]["edits"]) == ("unsafe", edits)
    assert document["errors"] == []


def test_a_report_can_go_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--output-format", "sarif", "--output-file", "out.sarif", "."]) == 1
    assert json.loads((folder / "out.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert capsys.readouterr().out == ""
    assert main(["--output-file", "no/such/folder/out", "."]) == 2


@pytest.mark.skipif(os.name == "nt", reason="links and rights of POSIX")
def test_a_report_goes_through_links_and_into_pipes(folder: Path) -> None:
    (folder / "report").symlink_to("real.txt")
    assert main(["--output-file", "report", "."]) == 1
    assert (folder / "report").is_symlink()
    assert "TL201" in (folder / "real.txt").read_text(encoding="utf-8")
    assert (folder / "real.txt").stat().st_mode & 0o600 == 0o600
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert main(["--output-file", "pipe", "."]) == 1
        assert "TL201" in reader.communicate(timeout=30)[0]
    assert (folder / "pipe").is_fifo()


@pytest.mark.usefixtures("folder")
def test_settings_and_files_can_be_shown_without_linting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--show-files", "."]) == 0
    assert capsys.readouterr().out.split() == ["clean.py", "guilty.py"]
    assert main(["--show-settings", "--select", "TL2", "."]) == 0
    assert "TL201" in json.loads(capsys.readouterr().out)["rules"]


@pytest.mark.usefixtures("folder")
def test_color_comes_only_when_asked_for_or_on_a_terminal() -> None:
    assert "\x1b" not in torchlint("guilty.py").stdout
    assert "\x1b" in torchlint("--color", "always", "guilty.py").stdout


def test_a_rule_is_explained_and_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "TL201"]) == 0
    assert "## Why it costs" in capsys.readouterr().out
    assert main(["rule", "device-round-trip", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "TL201"
    assert main(["rules"]) == 0
    assert "TL001  unused-suppression" in capsys.readouterr().out
    assert main(["rules", "TL1,ci", "TL506"]) == 0
    listed = capsys.readouterr().out
    assert "TL506" in listed
    assert "TL505" not in listed


def test_all_rules_are_explained_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--output-format", "json"]) == 0
    infos = json.loads(capsys.readouterr().out)
    assert main(["rule", "--all"]) == 0
    assert re.findall(r"^# (TL\d+) `", capsys.readouterr().out, re.M) == [info["id"] for info in infos]
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == infos


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "name a rule"), (["--all", "TL201"], "leave out 'TL201', or --all")]
)
def test_a_rule_or_all_of_them_must_be_named(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rule", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["rule", "TL201"], ["rules", "TL201"]])
def test_the_former_name_of_the_format_is_accepted_and_not_shown(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "TL201"
    with pytest.raises(SystemExit):
        main([arguments[0], "--help"])
    shown = capsys.readouterr().out
    assert "--output-format {text,json}" in shown
    assert " --format" not in shown


@pytest.mark.usefixtures("folder")
def test_help_and_version_are_status_0() -> None:
    assert torchlint("--version").stdout == f"torchlint {__version__}\n"
    for arguments in (["--help"], ["check", "--help"], ["rule", "--help"]):
        done = torchlint(*arguments)
        assert done.returncode == 0
        assert "usage: torchlint" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_run_with_status_130_and_one_line(folder: Path) -> None:
    for i in range(40):
        (folder / f"f{i}.py").write_text(GUILTY + "x = [1, 2, 3]\n" * 2_000, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", NEVER_ENDS, "--no-cache", "--jobs", "2", "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(list(folder.glob("linted-by-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate()
    assert process.returncode == 130
    assert (out, error) == ("", "torchlint: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_closed_pipe_is_no_traceback(folder: Path) -> None:
    for i in range(8):  # what is printed does not fit into a pipe
        (folder / f"f{i}.py").write_text(GUILTY * 40, encoding="utf-8")
    command = f"{sys.executable} -m torchlint --no-cache . | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.usefixtures("folder")
def test_the_second_run_uses_the_cache_and_says_the_same(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    main(["--output-format", "json", "."])
    first = capsys.readouterr().out
    assert list((folder / ".torchlint_cache").glob("*.json"))
    main(["--output-format", "json", "."])
    assert capsys.readouterr().out == first


def test_the_cache_is_cleared_with_its_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["."])
    main(["--ignore", "TL101", "."])
    capsys.readouterr()
    assert main(["--clear-cache"]) == 0
    assert capsys.readouterr().out == f"Deleted 2 caches in {folder / '.torchlint_cache'}.\n"
    assert not (folder / ".torchlint_cache").exists()
    assert main(["--clear-cache"]) == 0
    assert "Deleted 0 caches" in capsys.readouterr().out


def test_only_caches_are_cleared(folder: Path) -> None:
    kept = folder / "kept"
    kept.mkdir()
    (kept / "notes.json").write_text("{}", encoding="utf-8")
    main(["--cache-dir", "kept", "."])
    (folder / ".torchlint_cache").symlink_to(kept)
    assert main(["--clear-cache"]) == 0
    assert len(list(kept.glob("*.json"))) == 2
    assert main(["--cache-dir", "kept", "--clear-cache"]) == 0
    assert [file.name for file in kept.glob("*.json")] == ["notes.json"]


def test_two_runs_at_once_on_one_cache_agree_and_leave_it_usable(folder: Path) -> None:
    for i in range(10):
        (folder / f"f{i}.py").write_text(GUILTY, encoding="utf-8")
    command = [*TORCHLINT, "--output-format", "json", "."]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    reports = {run.communicate(timeout=60)[0] for run in runs}
    assert len(reports) == 1
    assert not list((folder / ".torchlint_cache").glob(".writing-*"))
    assert torchlint("--output-format", "json", ".").stdout in reports
