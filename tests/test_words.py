"""Misspelled options, commands and paths on the command line: one line that says what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.cli.main import main
from torchlint.cli.options import COMMANDS, parser


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a module and a package."""
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error of a command line that torchlint refuses."""
    try:
        status = main(arguments)
    except SystemExit as left:
        status = int(left.code or 0)
    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    assert output.err.startswith("torchlint: error: ")
    assert output.err.count("\n") == 1
    return output.err.removeprefix("torchlint: error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "option", "meant"),
    [
        (["--selct", "TL1", "train.py"], "--selct", "--select"),
        (["--selct=TL1", "train.py"], "--selct", "--select"),
        (["check", "train.py", "--output-fromat", "json"], "--output-fromat", "--output-format"),
        (["--stat"], "--stat", "--statistics"),
        (["-select", "TL1"], "-select", "--select"),
        (["rule", "TL101", "--output-fromat", "json"], "--output-fromat", "--output-format"),
        (["rules", "--output=json"], "--output", "--output-format"),
        (["confirm", "--stesp", "3", "--", "train.py", "--epochs", "1"], "--stesp", "--steps"),
        (["compare", "--fnding", "TL101", "--", "train.py"], "--fnding", "--finding"),
        (["verdict", "--colr", "never"], "--colr", "--color"),
        (["calibrate", "--nmae=x"], "--nmae", "--name"),
    ],
)
def test_a_misspelled_option_is_an_error_with_the_nearest(
    arguments: list[str], option: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert error(capsys, *arguments) == f"unknown option {option}; did you mean {meant}?"


def test_no_option_can_be_abbreviated_or_misspelled_without_being_told(capsys: pytest.CaptureFixture[str]) -> None:
    subparsers = parser()._subparsers
    assert subparsers is not None
    (commands,) = subparsers._group_actions
    assert isinstance(commands.choices, dict)
    assert set(commands.choices) == set(COMMANDS)
    for command, own in commands.choices.items():
        options = [name for name in own._option_string_actions if name.startswith("--")]
        for option in options:
            if own._option_string_actions[option].help != "==SUPPRESS==" and option[:-1] not in options:
                said = error(capsys, command, option[:-1])
                assert said.startswith(f"unknown option {option[:-1]}; did you mean {option[:-1]}")


@pytest.mark.parametrize("option", ["--xyzzy", "--bogus", "--nope"])
def test_an_option_like_no_other_points_to_the_help(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert error(capsys, option) == f"unknown option {option}; `torchlint check --help` lists the options"


@pytest.mark.parametrize("rule", ["TL999", "nope"])
def test_a_rule_like_no_other_points_to_the_list(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert error(capsys, "rule", rule) == f"there is no rule '{rule}'; `torchlint rules` lists them"


@pytest.mark.parametrize("rule", ["TL203", "manual-pin-then-copy"])
def test_a_rule_that_is_gone_says_why(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert error(capsys, "rule", rule).startswith("TL203 manual-pin-then-copy was retired: measured on a GPU")


def test_a_selector_like_no_other_points_to_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    said = "--select: there is no rule, topic, group, prefix or preset 'nope'; `torchlint rules` lists them"
    assert error(capsys, "--select", "nope") == said


def test_a_link_to_nothing_is_named_as_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "link.py").symlink_to("gone.py")
    assert main(["link.py"]) == 2
    assert "link.py: error: is a link to 'gone.py', which does not exist\n" in capsys.readouterr().out


def test_what_does_not_belong_to_a_command_points_to_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        error(capsys, "server", "x") == "unexpected argument 'x'; `torchlint server --help` says what the command takes"
    )
    assert "--exhaustive" not in error(capsys, "--exhausted")


def test_an_argument_of_the_program_is_not_misspelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert error(capsys, "compare", "train.py", "--epochs", "1") == "the following arguments are required: --finding"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("chek", "check"), ("rles", "rules"), ("confrim", "confirm"), ("help", "--help"), ("version", "--version")],
)
def test_a_misspelled_command_is_an_error_with_the_nearest(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"there is no command, file or folder '{word}'; did you mean `torchlint {meant}`?"
    assert error(capsys, word, "train.py") == said


def test_the_command_of_other_linters_points_to_the_one_that_explains_a_rule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert error(capsys, "explain", "TL301") == "there is no command 'explain'; write `torchlint rule TL301`"


@pytest.mark.parametrize("word", ["chek", "rles", "explain"])
def test_a_path_that_looks_like_a_misspelled_command_is_linted(word: str, folder: Path) -> None:
    (folder / word).mkdir()
    (folder / word / "a.py").write_text("import torch\nx = torch.zeros(3)\n", encoding="utf-8")
    assert main([word]) == 0


@pytest.mark.parametrize(("word", "meant"), [("trian.py", "train.py"), ("model", "models"), ("train", "train.py")])
def test_a_misspelled_path_is_an_error_with_the_nearest(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word, "models"]) == 2
    assert f"{word}: error: there is no such file or folder; did you mean {meant!r}?\n" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["./chek", "chek.py", "models/chek"])
def test_what_can_only_be_a_path_is_no_misspelled_command(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 2
    assert f"{Path(word)}: error: there is no such file or folder\n" in capsys.readouterr().out


def test_a_word_that_is_near_to_nothing_is_no_file_or_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xyzzy"]) == 2
    assert "xyzzy: error: there is no such file or folder\n" in capsys.readouterr().out
