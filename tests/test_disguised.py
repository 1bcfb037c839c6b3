"""Files that are named like options or commands: whoever commits a file chooses its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.cli.main import main

BAD = "#!/usr/bin/env python3\nimport numpy as np\nimport torch\n\nframe = torch.tensor(np.ones(3)).to('cuda')\n"
BAD += "torch.backends.cudnn.enabled = False\n"
NAMES = [
    "--output-file=victim.py",
    "--output-f=victim.py",  # nearly an option
    "--exclude=*.py",
    "--config=evil.py",
    "--exit-zero",
    "--help",
    "--fix",
    "-x",
    "-q",
    "-j9",
    "-",
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "victim.py").write_text(BAD, encoding="utf-8")


def status(*arguments: str) -> int:
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.parametrize("option", ["--exclude=*.py", "--exit-zero", "--fix", "-q", "-j9"])
def test_an_option_is_one_where_no_file_has_its_name(option: str) -> None:
    assert status("check", "--exit-zero", option, "victim.py") == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", [[], ["check"], ["check", "--force-exclude", "victim.py"]])
def test_an_argument_that_could_be_an_option_or_a_file_is_refused(
    name: str, before: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(BAD, encoding="utf-8")
    assert status(*before, name) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"torchlint: error: {name}: ") and f"./{name}" in err and err.count("\n") == 1
    assert Path("victim.py").read_text(encoding="utf-8") == BAD


@pytest.mark.parametrize("name", NAMES)
def test_such_a_file_is_linted_behind_two_dashes_or_with_its_folder(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(BAD, encoding="utf-8")
    assert status("check", "--isolated", f"./{name}") == 1
    assert f"{name}:5:" in capsys.readouterr().out
    if name != "-":  # which is standard input there as well
        assert status("check", "--isolated", "--", name) == 1
        assert f"{name}:5:" in capsys.readouterr().out


def test_a_path_that_looks_like_an_option_leads_into_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("--output-file=src").mkdir()
    Path("src").mkdir()
    Path("src/victim.py").write_text(BAD, encoding="utf-8")
    Path("--output-file=src/victim.py").write_text(BAD, encoding="utf-8")
    assert status("check", "--output-file=src/victim.py") == 2
    assert Path("src/victim.py").read_text(encoding="utf-8") == BAD
    assert "--output-file=src/victim.py:" in capsys.readouterr().err


def test_names_that_begin_with_an_at_sign_are_names(capsys: pytest.CaptureFixture[str]) -> None:
    Path("@arguments.py").write_text("--exit-zero\n--output-file=victim.py\n" + BAD, encoding="utf-8")
    status("check", "@arguments.py")
    assert "@arguments.py" in capsys.readouterr().out
    assert Path("victim.py").read_text(encoding="utf-8") == BAD


@pytest.mark.parametrize("command", ["--version", "-V", "--help"])
def test_what_only_prints_is_refused_as_well(command: str) -> None:
    Path(command).touch()
    assert status(command) == 2


@pytest.mark.parametrize("command", ["confirm", "compare"])
def test_files_that_are_named_like_commands_do_not_run_a_program(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`torchlint *` in a folder that holds these two names."""
    Path(command).touch()
    Path("evil.py").write_text("open('executed', 'w')\n", encoding="utf-8")
    assert status(command, "evil.py") == 2
    assert not Path("executed").exists()
    assert f"{command}: is a command and the name of a file here" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["rule", "-x"], ["verdict", "-x"], ["calibrate", "-x"], ["completion", "-x"]])
def test_every_command_refuses_such_names(command: list[str]) -> None:
    Path("-x").touch()
    assert status(*command) == 2
