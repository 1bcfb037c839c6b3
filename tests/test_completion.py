"""Completion scripts: the real shells accept them, and propose values, rules and paths."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from torchlint.cli.main import main

FORMATS = {"text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html"}
#: A command line up to the cursor, and what is proposed for its last word.
PROPOSED = {
    "torchlint --output-format ": FORMATS,
    "torchlint check --output-format s": {"sarif"},
    "torchlint --fail-on ": {"error", "warning", "info", "never"},
    "torchlint --color ": {"auto", "always", "never"},
    "torchlint confirm --on ": {"auto", "gpu", "sim", "cpu"},
    "torchlint completion ": {"bash", "zsh", "fish", "tcsh"},
    "torchlint che": {"check"},
    "torchlint --add-i": {"--add-ignore"},
    "torchlint sources --statis": {"--statistics"},
    "torchlint rule hardcoded": {"hardcoded-cuda"},
    "torchlint rule TL70": {"TL701", "TL702"},
    "torchlint --select TL70": {"TL70", "TL701", "TL702"},
    "torchlint --ignore loader-not": {"loader-not-pinned"},
    "torchlint check --extend-select loadin": {"loading"},
    "torchlint sou": {"sources"},
    "torchlint check sou": {"sources"},
    "torchlint sources tra": {"train.py"},
    "torchlint --fix tra": {"train.py"},
    "torchlint --config torch": {"torchlint.toml"},
    "torchlint confirm --steps 3 -- tra": {"train.py"},
}


def test_the_documentation_shows_what_is_proposed() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs/configuration.md").read_text(encoding="utf-8")
    line, proposed = page.partition("\n$ torchlint --select ")[2].splitlines()[:2]
    assert set(proposed.split()) == PROPOSED["torchlint --select " + line.removesuffix("<TAB>")]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a few names to complete."""
    (tmp_path / "sources").mkdir()
    for name in ("train.py", "torchlint.toml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", [pytest.param(shell, marks=needs(shell)) for shell in ("bash", "zsh", "fish")])
def test_the_shell_accepts_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("script").write_text(script(shell, capsys), encoding="utf-8")
    done = subprocess.run([shell, "-n", "script"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@needs("tcsh")
def test_tcsh_reads_its_script(capsys: pytest.CaptureFixture[str]) -> None:
    Path("script").write_text(script("tcsh", capsys), encoding="utf-8")
    done = subprocess.run(
        ["tcsh", "-f", "-c", "source script; complete torchlint"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "sarif" in done.stdout


# -- bash ------------------------------------------------------------------------------------------


@needs("bash")
def test_bash_proposes_values_rules_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {line: line.split(" ") for line in PROPOSED}
    assert in_bash(lines, capsys) == PROPOSED


@needs("bash")
def test_bash_proposes_the_rest_of_lists_and_what_follows_an_equals_sign(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {
        "list": ["torchlint", "--select", "loading,TL70"],
        "empty": ["torchlint", "--color", "="],
        "begun": ["torchlint", "--color", "=", "al"],
        "after": ["torchlint", "--color", "=", "always", "tra"],
    }
    assert in_bash(lines, capsys) == {
        "list": {"loading,TL70", "loading,TL701", "loading,TL702"},
        "empty": {"auto", "always", "never"},
        "begun": {"always"},
        "after": {"train.py"},
    }


def in_bash(lines: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    """What bash proposes for the last of the words of each line; more than files and commands are not compared."""
    Path(".script").write_text(script("bash", capsys), encoding="utf-8")
    asked = ["source .script"]
    for number, words in enumerate(lines.values()):
        listed = " ".join(f"'{word}'" for word in words)
        asked += [f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; COMPREPLY=(); _torchlint torchlint"]
        asked += [f'printf "{number} %s\\n" "${{COMPREPLY[@]}}"']
    done = subprocess.run(["bash", "--norc", "-c", "\n".join(asked)], capture_output=True, text=True, check=True)
    assert not done.stderr
    proposed = [line.split(" ", 1) for line in done.stdout.splitlines()]
    return {line: {word for at, word in proposed if at == str(n)} for n, line in enumerate(lines)}


# -- fish ------------------------------------------------------------------------------------------


@needs("fish")
def test_fish_proposes_values_rules_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    more = {
        "torchlint --select loading,TL70": {"loading,TL70", "loading,TL701", "loading,TL702"},
        "torchlint --color=al": {"--color=always"},
        "torchlint --ignore=loading,TL70": {
            "--ignore=loading,TL70",
            "--ignore=loading,TL701",
            "--ignore=loading,TL702",
        },
    }
    assert in_fish([*PROPOSED, *more], capsys) == PROPOSED | more


def in_fish(lines: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    Path(".script").write_text(script("fish", capsys), encoding="utf-8")
    asked = ["source .script", *(f"complete -C'{line}' | string replace -r '^' '{n} '" for n, line in enumerate(lines))]
    done = subprocess.run(["fish", "--no-config", "-c", "\n".join(asked)], capture_output=True, text=True, check=True)
    proposed = [line.partition("\t")[0].split(" ", 1) for line in done.stdout.splitlines()]
    return {line: {word.rstrip("/") for at, word in proposed if at == str(n)} for n, line in enumerate(lines)}


# -- zsh -------------------------------------------------------------------------------------------


@needs("zsh")
@pytest.mark.parametrize(
    "line",
    [
        "torchlint --output-format ",
        "torchlint che",
        "torchlint --select TL70",
        "torchlint rule TL70",
        "torchlint sou",
        "torchlint sources tra",
        "torchlint confirm --on ",
    ],
)
def test_zsh_proposes_values_rules_and_paths(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("functions").mkdir()
    Path("functions/_torchlint").write_text(script("zsh", capsys), encoding="utf-8")
    shown = typed_in_zsh(line)
    assert PROPOSED[line] <= {word.rstrip("/") for word in shown.split()}
    assert not (line.endswith(" ") and "train.py" in shown)


def typed_in_zsh(line: str) -> str:
    """What zsh shows for a line and a key that lists what it would complete."""
    import pty

    child, terminal = pty.fork()
    if not child:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb"})
    try:
        setup = (
            "PS1=; unsetopt zle_bracketed_paste; fpath=($PWD/functions $fpath); autoload -Uz compinit; "
            "compinit -D -u; stty -echo; bindkey '^X' list-choices; echo READ''Y\n"
        )
        os.write(terminal, setup.encode())
        read_until(terminal, "READY")
        os.write(terminal, f"{line}\x18".encode())
        return read_until(terminal, line, again=True)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def read_until(terminal: int, words: str, *, again: bool = False) -> str:
    """The output of a terminal up to some words, or up to where they are shown again below the list."""
    seen, until = "", time.monotonic() + 30
    while seen.count(words) < 1 + again and time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace").replace("\r", "")
    return seen
