"""Which configuration counts for which file, however the file is named."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from torchlint.cli.main import main
from torchlint.config.config import Config, ConfigError
from torchlint.config.configurations import configurations
from torchlint.config.files import in_folder

COPIES = "import numpy as np\nimport torch\n\n\ndef collate_fn(path):\n    return torch.tensor(np.load(path))\n"
NAMED = """import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
def load(model):
    return model.cuda()
"""
FLAGS = "import torch\ntorch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = True\n"
FILES = [
    "bare.py",
    "one/copies.py",
    "one/deep/named.py",
    "one/generated/copies.py",
    "two/src/copies.py",
    "two/src/named.py",
    "two/tests/copies.py",
]


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages with configurations of their own in a project that has one as well."""
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        write(name, NAMED if name.endswith("named.py") else COPIES)
    write("pyproject.toml", '[tool.torchlint]\nignore = ["TL101"]\n')
    write("one/pyproject.toml", '[tool.torchlint]\nselect = ["TL1"]\nexclude = ["generated"]\n')
    write("one/deep/pyproject.toml", "[tool.ruff]\nline-length = 100\n")
    write("two/torchlint.toml", '[per-file-ignores]\n"tests/*" = ["TL101"]\n')
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[str, str, str]]:
    """Every finding: its place in the whole project, its rule and its fingerprint."""
    main([*arguments, "--no-cache", "--output-format", "json"])
    listed = json.loads(capsys.readouterr().out)["findings"]
    root = next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "bare.py").exists())
    places = (Path(f["path"]).resolve().relative_to(root.resolve()).as_posix() for f in listed)
    return sorted(zip(places, (f["rule"] for f in listed), (f["fingerprint"] for f in listed), strict=True))


def test_a_file_has_the_same_findings_whichever_path_was_named(
    packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = findings(capsys, ".")
    assert [(place, rule) for place, rule, _ in whole] == [
        ("one/copies.py", "TL101"),
        ("two/src/copies.py", "TL101"),
        ("two/src/named.py", "TL701"),
    ]
    assert len({fingerprint for *_, fingerprint in whole}) == 3
    assert findings(capsys, "one", "two", "bare.py") == whole
    assert findings(capsys, "--force-exclude", *FILES) == whole
    assert findings(capsys, "--force-exclude", *reversed(FILES)) == whole
    inside = []
    for folder in ("one", "two"):
        monkeypatch.chdir(packages / folder)
        inside += findings(capsys, ".")
    assert inside == whole
    monkeypatch.chdir(packages / "one" / "deep")
    assert findings(capsys, "../copies.py", "../../two/src", ".") == whole


@pytest.mark.usefixtures("packages")
def test_the_cache_holds_what_counts_for_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    def rules(*options: str) -> list[tuple[str, str]]:
        main([*FILES, "--force-exclude", "--output-format", "json", *options])
        return [(f["path"], f["rule"]) for f in json.loads(capsys.readouterr().out)["findings"]]

    before = rules()
    assert rules() == before
    write("one/pyproject.toml", '[tool.torchlint]\nselect = ["TL7"]\n')
    assert rules() == [("one/deep/named.py", "TL701"), ("two/src/copies.py", "TL101"), ("two/src/named.py", "TL701")]
    write("two/torchlint.toml", "")
    assert ("two/tests/copies.py", "TL101") in rules()
    assert rules("--select", "TL7") == [("one/deep/named.py", "TL701"), ("two/src/named.py", "TL701")]


def test_what_the_cache_knows_of_one_folder_is_not_taken_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files with the same name and content, seen from two folders below the configuration."""
    for name in ("a/train.py", "b/train.py"):
        write(str(tmp_path / name), COPIES)
    (tmp_path / "torchlint.toml").write_text('[per-file-ignores]\n"a/*" = ["TL101"]\n')
    for folder, expected in (("a", 0), ("b", 1), ("a", 0)):
        monkeypatch.chdir(tmp_path / folder)
        assert main(["train.py"]) == expected


@pytest.mark.usefixtures("packages")
def test_options_change_every_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    def places(*options: str) -> set[tuple[str, str]]:
        return {(place, rule) for place, rule, _ in findings(capsys, ".", *options)}

    assert places("--extend-select", "TL7", "--ignore", "TL101") == {
        ("one/deep/named.py", "TL701"),
        ("two/src/named.py", "TL701"),
    }
    # Globs on the command line are relative to where that is.
    assert places("--exclude", "two/src") == {("one/copies.py", "TL101")}
    assert places("--per-file-ignores", "two/src/*:TL1") == {("one/copies.py", "TL101"), ("two/src/named.py", "TL701")}


@pytest.mark.usefixtures("packages")
def test_one_configuration_for_all_can_be_named_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    write("other.toml", 'select = ["TL7"]\n')
    assert {place for place, *_ in findings(capsys, ".", "--config", "other.toml")} == {
        "one/deep/named.py",
        "two/src/named.py",
    }
    every = {place for place, *_ in findings(capsys, ".", "--isolated")}
    assert every == set(FILES)


@pytest.mark.usefixtures("packages")
def test_the_severity_that_fails_is_that_of_the_file() -> None:
    write("two/torchlint.toml", 'fail-on = "error"\n')
    assert main(["two"]) == 0
    assert main(["two", "one"]) == 1
    assert main(["two", "--fail-on", "warning"]) == 1


@pytest.mark.usefixtures("packages")
def test_a_broken_configuration_on_the_way_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    write("two/torchlint.toml", "selct = []")
    assert main(["."]) == 2
    assert (
        capsys.readouterr().err == "torchlint: error: two/torchlint.toml: unknown key 'selct'; did you mean 'select'?\n"
    )
    assert main(["bare.py", "two/src/named.py"]) == 2
    capsys.readouterr()
    assert main(["one"]) == 1
    assert capsys.readouterr().err == ""
    write("two/torchlint.toml", 'select = ["TL9x"]')
    assert main(["one", "two"]) == 2
    assert "two/torchlint.toml: select" in capsys.readouterr().err


def test_a_broken_configuration_outside_of_the_project_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(str(tmp_path / "torchlint.toml"), "[[[")
    write(str(tmp_path / "project/torchlint.toml"), "")
    write(str(tmp_path / "project/a.py"), COPIES)
    monkeypatch.chdir(tmp_path / "project")
    assert main(["a.py", "--force-exclude"]) == 1


@pytest.mark.usefixtures("packages")
def test_an_outer_configuration_may_leave_out_a_package_with_one_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where files are named, as long as what is excluded lies below the current folder."""
    write("pyproject.toml", '[tool.torchlint]\nexclude = ["two"]\n')
    expected = findings(capsys, ".")
    assert {place for place, *_ in expected} == {"bare.py", "one/copies.py"}
    assert findings(capsys, "--force-exclude", *FILES) == expected
    assert {place for place, *_ in findings(capsys, "two")} == {"two/src/copies.py", "two/src/named.py"}


def test_what_torch_is_required_depends_on_the_folder_of_each_file(tmp_path: Path) -> None:
    write(str(tmp_path / "requirements.txt"), "torch>=2.4\n")
    write(str(tmp_path / "examples/old/requirements.txt"), "torch==1.9\n")
    write(str(tmp_path / "examples/torchlint.toml"), "")
    write(str(tmp_path / "vendored/.git/config"), "")
    found = configurations(tmp_path)
    versions = {
        name: found.for_folder(str(tmp_path / name)).target_torch
        for name in ("a/b", "examples/old/x", "examples", "vendored/src")
    }
    assert versions == {"a/b": "2.4", "examples/old/x": "1.9", "examples": "2.4", "vendored/src": None}
    given = configurations(tmp_path, lambda config: config._replace(target_torch="2.0"))
    assert given.for_folder(str(tmp_path / "examples/old")).target_torch == "2.0"


@pytest.mark.usefixtures("packages")
def test_each_folder_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(folder: str) -> Config | None:
        asked.append(folder)
        return in_folder(folder)

    monkeypatch.setattr("torchlint.config.configurations.in_folder", counted)
    found = configurations(".")
    for _ in range(2):
        for name in FILES:
            found.for_folder(str(Path(name).parent.absolute()))
    assert len(asked) == len(set(asked))
    assert len({id(found.for_folder(str(Path(name).parent.absolute()))) for name in FILES}) == 3


@pytest.mark.usefixtures("packages")
def test_standard_input_is_linted_by_what_counts_for_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, status in (("one/new.py", 0), ("two/new.py", 1), ("two/tests/new.py", 1)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FLAGS.encode())))
        assert main(["-", "--stdin-filename", name]) == status


@pytest.mark.usefixtures("packages")
def test_results_are_the_same_in_several_processes(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(60):
        for folder in ("one", "two/src"):
            write(f"{folder}/more_{number}.py", f"{COPIES}\n# {'x' * 3000}\n{NAMED}")
    assert findings(capsys, ".", "--jobs", "1") == findings(capsys, ".", "--jobs", "2")


@pytest.mark.usefixtures("packages")
def test_two_files_of_configuration_in_one_folder_are_an_error() -> None:
    write("two/pyproject.toml", "[tool.torchlint]\n")
    with pytest.raises(ConfigError, match="keep one of the two"):
        configurations("two/src/x.py")


def settings(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main([*arguments, "--show-settings"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("packages")
def test_the_settings_that_are_shown_are_those_of_the_first_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert settings(capsys, "two/src/copies.py", "one")["source"] == str(Path("two", "torchlint.toml"))
    assert settings(capsys, "one", "--exclude", "x")["exclude"] == ["generated", "x"]
