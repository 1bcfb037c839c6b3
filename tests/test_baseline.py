"""Baselines: known findings are not reported, and what no longer occurs is named."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from tests.git_help import HEAD, Git, Lint, guilty, isolate, notebook
from torchlint import schema
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.model import Accepted
from torchlint.run.baselines.baseline import Baseline
from torchlint.run.session import plan

FILE = "accepted.json"
WITH = ("--baseline", FILE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder outside of any repository, with two modules with a finding each."""
    isolate(monkeypatch)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    write(tmp_path, one=guilty(1), two=guilty(2))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Lint:
    return Lint(capsys)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def entries(file: Path) -> list[tuple[str, str, int]]:
    """Path, number in the code, and count of each entry."""
    listed = json.loads(file.read_text(encoding="utf-8"))["findings"]
    return [(each["path"], each["line"].partition("0, ")[2][:1], each.get("count", 1)) for each in listed]


def test_only_new_findings_are_reported_and_fail_the_run(folder: Path, lint: Lint) -> None:
    assert lint(*WITH, "--write-baseline") == []
    assert "recognized in 2 files (2 in the baseline).\nWrote accepted.json: 2 findings accepted." in lint.output
    assert lint(*WITH) == []
    write(folder, one=guilty(1, 3))
    assert lint(*WITH) == ["one.py:6"]
    assert "Found 1 warning in 2 files (2 in the baseline)." in lint.output


def test_moved_lines_keep_their_entry(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    write(folder, one="import os\n\n\n" + guilty(1).replace("    y", "    if x:\n        y"))
    assert lint(*WITH) == []
    assert "no longer" not in lint.output


def test_equal_lines_are_counted(folder: Path, lint: Lint) -> None:
    write(folder, one=guilty(1, 1))
    lint(*WITH, "--write-baseline")
    assert entries(folder / FILE) == [("one.py", "1", 2), ("two.py", "2", 1)]
    write(folder, one=guilty(1, 1, 1))
    assert lint(*WITH) == ["one.py:7"]
    write(folder, one=guilty(1))
    assert lint(*WITH) == []
    assert "1 finding of the baseline no longer occurs (TL201 in one.py); --prune-baseline drops it." in lint.output


def test_the_file_is_ordered_with_one_entry_a_line_and_the_same_for_the_same_code(folder: Path, lint: Lint) -> None:
    write(folder, one=guilty(1).replace("y =", "größe ="))
    lint("two.py", "one.py", *WITH, "--write-baseline", "--jobs", "1")
    text = (folder / FILE).read_text(encoding="utf-8")
    assert text == (
        '{\n  "torchlint-baseline": 1,\n  "findings": [\n'
        '    {"path": "one.py", "rule": "TL201", "line": "größe = x.cpu().clamp(0, 1).to(device)"},\n'
        '    {"path": "two.py", "rule": "TL201", "line": "y = x.cpu().clamp(0, 2).to(device)"}\n  ]\n}\n'
    )
    lint(*WITH, "--write-baseline")
    assert "accepted.json needs no change: 2 findings accepted." in lint.output
    assert (folder / FILE).read_text(encoding="utf-8") == text


def test_the_file_fits_its_schema(folder: Path, lint: Lint) -> None:
    published = (Path(__file__).parent.parent / schema.BASELINE_TARGET).read_text(encoding="utf-8")
    assert published == schema.render_baseline(), "write it with: python -m torchlint.schema"
    content = json.loads(published)
    jsonschema.Draft7Validator.check_schema(content)
    write(folder, one=guilty(1, 1))
    lint(*WITH, "--write-baseline")
    jsonschema.validate(json.loads((folder / FILE).read_text("utf-8")), content)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"torchlint-baseline": 1, "findings": [{"path": "x.py"}]}, content)


def test_pruning_drops_what_no_longer_occurs_and_accepts_nothing(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    write(folder, one=guilty(3))
    assert lint(*WITH, "--prune-baseline") == ["one.py:5"]
    assert "Dropped 1 finding from accepted.json." in lint.output
    assert entries(folder / FILE) == [("two.py", "2", 1)]


def test_a_run_over_one_file_leaves_the_entries_of_others(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    write(folder, one=guilty(), two=guilty())
    assert lint(*WITH, "one.py") == []
    assert "1 finding of the baseline" in lint.output
    lint(*WITH, "one.py", "--prune-baseline")
    assert entries(folder / FILE) == [("two.py", "2", 1)]
    write(folder, one=guilty(4))
    lint(*WITH, "one.py", "--write-baseline")
    assert entries(folder / FILE) == [("one.py", "4", 1), ("two.py", "2", 1)]


def test_deleted_files_are_obsolete(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    (folder / "one.py").unlink()
    assert lint(*WITH, "two.py") == []
    assert "(TL201 in one.py)" in lint.output
    assert "one.py of accepted.json no longer exists; if renamed, its findings count as new: " in lint.output
    lint(*WITH, "two.py", "--prune-baseline")
    assert entries(folder / FILE) == [("two.py", "2", 1)]


@pytest.mark.parametrize("option", ["--select=TL1", "--ignore=TL201", "--per-file-ignores=one.py:TL201"])
def test_rules_that_do_not_run_are_not_obsolete(folder: Path, lint: Lint, option: str) -> None:
    lint(*WITH, "--write-baseline")
    before = (folder / FILE).read_text()
    for action in ([], ["--prune-baseline"], ["--write-baseline"]):
        assert lint(*WITH, option, "one.py", *action) == []
        assert "no longer" not in lint.output
    assert (folder / FILE).read_text() == before


def test_a_file_that_cannot_be_linted_keeps_its_entries(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*WITH, "--write-baseline"])
    before = (folder / FILE).read_text()
    write(folder, one="import torch\n(")
    assert main([*WITH, "--write-baseline", "--no-cache"]) == 1
    assert "TL000" in capsys.readouterr().out  # never accepted
    assert (folder / FILE).read_text() == before


def test_a_file_that_cannot_be_decoded_does_no_harm(folder: Path, lint: Lint) -> None:
    (folder / "bad.py").write_bytes(b"import torch\nx = '\xff'\n")
    assert lint(*WITH, "--write-baseline") == ["bad.py:2"]
    assert entries(folder / FILE) == [("one.py", "1", 1), ("two.py", "2", 1)]


def test_a_suppressed_finding_is_obsolete(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    write(
        folder,
        one=guilty(1)
        .replace("e)\n", "e)  # noqa: TL201\n")
        .replace("def f(x, device)  # noqa: TL201", "def f(x, device)"),
    )
    assert lint(*WITH) == []
    assert "(1 suppressed; 1 in the baseline)" in lint.output
    assert "no longer occurs" in lint.output


def test_findings_that_never_fail_a_run_are_accepted_too(folder: Path, lint: Lint) -> None:
    write(folder, one="import torch\n\nx = torch.zeros(3).to('cuda')\n")
    assert lint("--select", "TL104", "--fail-on", "info") == ["one.py:3"]
    lint("--select", "TL104", *WITH, "--write-baseline")
    assert lint("--select", "TL104", "--fail-on", "info", *WITH) == []


def test_from_any_folder_the_same_findings_are_new(folder: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    sub = folder / "sub"
    sub.mkdir()
    write(sub, three=guilty(3))
    lint(*WITH, "--write-baseline")
    monkeypatch.chdir(sub)
    assert lint("--baseline", f"../{FILE}", "..", ".") == []
    (folder / "torchlint.toml").write_text(f'baseline = "{FILE}"\n')
    assert lint() == []
    assert "(1 in the baseline)" in lint.output


def test_the_configuration_of_each_folder_names_its_baseline(folder: Path, lint: Lint) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "torchlint.toml").write_text('baseline = "known.json"\n')
        write(folder / name, x=guilty(1))
    lint("a", "b", "--write-baseline")
    assert entries(folder / "a/known.json") == entries(folder / "b/known.json") == [("x.py", "1", 1)]
    assert lint("a", "b") == []
    assert lint("a", "b", "--no-baseline") == ["a/x.py:5", "b/x.py:5"]
    assert lint("a", "b", "--isolated") == ["a/x.py:5", "b/x.py:5"]
    write(folder / "a", x=guilty())
    shutil.copy(folder / "a/known.json", folder / FILE)
    assert lint(*WITH, "a", "b") == ["b/x.py:5"]


def test_only_what_is_reported_is_fixed(folder: Path, lint: Lint) -> None:
    old, new = "x = torch.zeros(3).to('cuda')\n", "y = torch.zeros(4).to('cuda')\n"
    write(folder, one="import torch\n\n" + old)
    options = ("--select", "TL104", "--fail-on", "info", *WITH)
    lint(*options, "--write-baseline")
    write(folder, one="import torch\n\n" + old + new)
    assert main([*options, "--diff"]) == 1
    assert lint(*options, "--fix")[:1] == []
    assert (folder / "one.py").read_text() == "import torch\n\n" + old + "y = torch.zeros(4, device='cuda')\n"
    assert "1 fixed." in lint.output


def test_a_fixed_finding_is_obsolete_and_pruned(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    lint("--fix", "--unsafe-fixes", "one.py")
    lint(*WITH, "--fix", "--prune-baseline")
    assert entries(folder / FILE) == [("two.py", "2", 1)]


@pytest.mark.usefixtures("folder")
def test_standard_input_is_compared_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    main([*WITH, "--write-baseline"])
    for text, status in ((guilty(1), 0), (guilty(1, 2), 1)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        assert main([*WITH, "-", "--stdin-filename", "one.py"]) == status


def test_suppressions_are_added_for_new_findings_only(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    write(folder, one=guilty(1, 3))
    assert main([*WITH, "--add-ignore", "--no-cache"]) == 0
    text = (folder / "one.py").read_text().splitlines()
    assert ["ignore[TL201]" in line for line in text[4:]] == [False, True]


def test_programs_read_the_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*WITH, "--write-baseline"])
    write(folder, one=guilty(), two=guilty(2, 3))
    capsys.readouterr()
    assert main([*WITH, "--output-format", "json"]) == 1
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert {key: summary[key] for key in ("warning", "baselined", "obsolete")} == {
        "warning": 1,
        "baselined": 1,
        "obsolete": 1,
    }


@pytest.mark.parametrize("output_format", ["text", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_no_format_shows_what_is_in_the_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str], output_format: str
) -> None:
    main([*WITH, "--write-baseline"])
    write(folder, one=guilty(1, 3))
    capsys.readouterr()
    assert main([*WITH, "--output-format", output_format]) == 1
    output = capsys.readouterr().out
    assert ("one.py" in output, "two.py" in output) == (True, False)


# -- renamed files --------------------------------------------------------------------------------


@pytest.fixture
def git(folder: Path, lint: Lint) -> Git:
    """A repository in the working folder in which a baseline is committed."""
    repository = Git(folder)
    repository.commit(one=guilty(*range(9)))
    lint(*WITH, "--write-baseline")
    repository.commit()
    return repository


@pytest.mark.parametrize("committed", [False, True])
def test_renamed_files_keep_their_entries(git: Git, lint: Lint, committed: bool) -> None:
    (git.folder / "sub").mkdir()
    git("mv", "one.py", "sub/new.py")
    git.write("sub/new.py", guilty(*range(8), 100, 200))
    if committed:
        git.commit()
        git.commit(other="")
    assert lint(*WITH) == ["sub/new.py:13", "sub/new.py:14"]
    assert "(TL201 in sub/new.py)" in lint.output
    lint(*WITH, "--prune-baseline")
    assert {path for path, _, _ in entries(git.folder / FILE)} == {"sub/new.py", "two.py"}


def test_entries_of_a_renamed_file_move_when_the_baseline_is_written_again(git: Git, lint: Lint) -> None:
    git("mv", "one.py", "new.py")
    git("mv", "two.py", "three.py")
    lint(*WITH, "--write-baseline", "three.py")  # looks at one of the two only
    git.commit()
    assert {path for path, _, _ in entries(git.folder / FILE)} == {"new.py", "three.py"}
    assert lint(*WITH) == []
    assert "no longer" not in lint.output


def test_pruning_updates_the_names_of_renamed_files_and_says_that_nothing_was_dropped(git: Git, lint: Lint) -> None:
    git("mv", "one.py", "new.py")
    assert lint(*WITH, "--prune-baseline") == []
    assert f"Updated {FILE}: no finding was dropped." in lint.output
    assert {path for path, _, _ in entries(git.folder / FILE)} == {"new.py", "two.py"}


def test_files_that_a_sparse_checkout_leaves_out_are_not_obsolete(git: Git, lint: Lint) -> None:
    git("update-index", "--skip-worktree", "one.py")
    (git.folder / "one.py").unlink()
    assert lint(*WITH) == []
    assert "no longer" not in lint.output


def test_a_shallow_clone_says_that_renames_are_not_known(
    git: Git, lint: Lint, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("mv", "two.py", "renamed.py")
    git.commit()
    shallow = tmp_path_factory.mktemp("clones") / "shallow"
    git("clone", "-q", "--depth=1", git.folder.as_uri(), str(shallow))
    monkeypatch.chdir(shallow)
    assert lint(*WITH) == ["renamed.py:5"]
    assert "this is a shallow clone; fetch more history with git fetch --unshallow" in lint.output


# -- what cannot be used --------------------------------------------------------------------------


CONFLICT = '{\n<<<<<<< ours\n"torchlint-baseline": 1,\n=======\n>>>>>>> theirs\n}\n'
ENTRY = '{{"torchlint-baseline": 1, "findings": [{}]}}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CONFLICT, "accepted.json:2: has marks of a merge conflict; remove the marks"),
        ('{"torchlint-baseline": 1,\n', "accepted.json:2: is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"torchlint-baseline": 2, "findings": {}}', "was written by a newer torchlint (version 2); upgrade"),
        ("[]", "is not a baseline of torchlint"),
        ('{"torchlint-baseline": true, "findings": []}', "is not a baseline of torchlint"),
        ('{"findings": []}', "is not a baseline of torchlint"),
        (ENTRY.format('{"path": "x.py", "rule": "TL201"}'), "entry 1 of its findings is malformed"),
        (ENTRY.format('{"path": "x.py", "rule": "TL201", "line": 3}'), "entry 1 of its findings is malformed"),
        (ENTRY.format('{"path": "x.py", "rule": "TL000", "line": ""}'), "cannot be in a baseline"),
        (ENTRY.format('{"path": "\\u0000", "rule": "TL201", "line": ""}'), "cannot be in a baseline"),
        (ENTRY.format('{"path": "x", "rule": "TL201", "line": "", "count": 0}'), "cannot be in a baseline"),
        ("\udcff", "is not valid JSON"),
    ],
)
@pytest.mark.parametrize("action", ["", "--write-baseline"])
def test_a_broken_baseline_is_an_error_and_stays(folder: Path, lint: Lint, text: str, words: str, action: str) -> None:
    (folder / FILE).write_text(text, encoding="utf-8", errors="surrogateescape")
    assert words in lint.refused(*WITH, *filter(None, [action]))
    assert (folder / FILE).read_text(encoding="utf-8", errors="surrogateescape") == text


@pytest.mark.usefixtures("folder")
def test_a_missing_baseline_is_an_error(lint: Lint) -> None:
    assert "accepted.json: there is no such baseline; --write-baseline writes it" in lint.refused(*WITH)


def test_a_baseline_that_cannot_be_written_is_an_error(folder: Path, lint: Lint) -> None:
    assert "cannot be written" in lint.refused("--baseline", "missing/x.json", "--write-baseline")
    lint(*WITH, "--write-baseline")
    (folder / FILE).chmod(0o444)
    write(folder, one=guilty())
    assert "accepted.json: is read-only" in lint.refused(*WITH, "--prune-baseline")


def test_a_baseline_keeps_its_mode(folder: Path, lint: Lint) -> None:
    lint(*WITH, "--write-baseline")
    (folder / FILE).chmod(0o640)
    write(folder, one=guilty())
    lint(*WITH, "--prune-baseline")
    assert (folder / FILE).stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--write-baseline"], "say which file: --baseline FILE, or baseline ="),
        (["--prune-baseline"], "say which file"),
        ([*WITH, "--write-baseline", "--prune-baseline"], "leave out --prune-baseline"),
        ([*WITH, "--write-baseline", "--fix"], "run --fix first"),
        ([*WITH, "--prune-baseline", "--diff"], "--diff changes nothing"),
        ([*WITH, "--write-baseline", "--staged"], "leave out --staged"),
        ([*WITH, "--prune-baseline", "--changed-since", "main"], "leave out --changed-since"),
        ([*WITH, "--write-baseline", "-"], "standard input has no place in a baseline"),
        ([*WITH, "--write-baseline", "--add-ignore"], "cannot be combined"),
        ([*WITH, "--no-baseline"], "contradict each other"),
    ],
)
def test_contradictory_options_are_refused(folder: Path, lint: Lint, arguments: list[str], words: str) -> None:
    assert words in lint.refused(*arguments)
    assert not (folder / FILE).exists()


@pytest.mark.parametrize(
    ("value", "words"), [("3", "must be the name of a file, not an integer"), ('" "', "must be the name of a file")]
)
def test_a_wrong_value_in_the_configuration_is_an_error(folder: Path, lint: Lint, value: str, words: str) -> None:
    (folder / "torchlint.toml").write_text(f"baseline = {value}\n")
    assert f"torchlint.toml: baseline {words}" in lint.refused()


def test_a_changed_baseline_does_not_make_the_cache_useless(folder: Path) -> None:
    from torchlint.run.cache import for_settings

    one, other = plan(Config(root=str(folder))), plan(Config(root=str(folder), baseline="x.json"))
    names = {for_settings(each.rules, each.scopes, "cache")._file for each in (one, other)}
    assert len(names) == 1


def test_git_is_not_asked_about_files_that_exist(folder: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(*WITH, "--write-baseline")
    monkeypatch.setenv("PATH", "")
    assert lint(*WITH) == []
    assert "git" not in lint.output
    (folder / "one.py").rename(folder / "new.py")
    assert lint(*WITH) == ["new.py:5"]
    assert "its findings count as new: git is not installed" in lint.output


def test_a_new_file_with_the_name_of_a_renamed_one_has_its_own_findings(git: Git, lint: Lint) -> None:
    git("mv", "two.py", "three.py")
    git.write("two.py", HEAD + "    return x\n")
    git("add", "--all")
    assert lint(*WITH) == ["three.py:5"]  # git sees no rename while the old name exists


def test_findings_in_cells_have_entries_too(folder: Path, lint: Lint) -> None:
    cells = ["%matplotlib inline\nimport torch", "%time x = torch.zeros(1).to('cuda')", "y = torch.zeros(2).to('cuda')"]
    (folder / "a.ipynb").write_text(notebook(*cells))
    options = ("--select", "TL104", "--fail-on", "info", *WITH)
    lint(*options, "--write-baseline")
    assert json.loads((folder / FILE).read_text())["findings"][-1]["line"] == cells[2]
    (folder / "a.ipynb").write_text(notebook("z = 1", *cells, "z = torch.zeros(3).to('cuda')"))
    lint(*options)
    assert "a.ipynb:cell 5:1" in lint.output
    assert "Found 1 info in 3 files (2 in the baseline)." in lint.output


def test_of_two_entries_for_one_line_the_larger_count_is_accepted() -> None:
    entry = Accepted("a.py", "TL701", "x = y.cuda()", 3)
    for both in ([entry, entry._replace(times=1)], [entry._replace(times=1), entry]):
        assert Baseline("baseline.json", both).entries == [entry]
