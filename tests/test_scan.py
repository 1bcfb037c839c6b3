"""``torchlint scan``: what it finds is what a plain run finds, and nothing in its input or its processes ends it."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ray")
import pyarrow.parquet as pq  # noqa: E402

from tests import plugin_help, warm  # noqa: E402
from tests.test_scan_archives import tar  # noqa: E402
from torchlint.api import Config, lint_paths  # noqa: E402
from torchlint.base.limits import MAX_BYTES  # noqa: E402
from torchlint.cli.main import main  # noqa: E402
from torchlint.report.json import finding_document  # noqa: E402
from torchlint.report.shared import rules_by_id  # noqa: E402
from torchlint.scan import cluster, groups, inputs, manifest, results, rows, tables  # noqa: E402
from torchlint.scan.columns import Columns  # noqa: E402
from torchlint.scan.problems import Unreadable  # noqa: E402
from torchlint.scan.store import Store, opened  # noqa: E402
from torchlint.text.decode import decode  # noqa: E402

FIXTURES = Path(__file__).parents[1] / "fixtures"
GUILTY = "import torch\ndef f(x, device):\n    return x.cpu().clamp(0, 1).to(device)\n"
# A loader of one file whose batches another file moves: a finding that needs both.
LOADER = (
    "from torch.utils.data import DataLoader\n"
    "def loader(data):\n    return DataLoader(data, batch_size=8, num_workers=2)\n"
)
LOOP = (
    "from data import loader\nimport torch\n"
    "def train(data, model, optimizer):\n"
    "    device = torch.device('cuda')\n    model.to(device)\n"
    "    for x, y in loader(data):\n"
    "        x = x.to(device)\n        loss = model(x).sum()\n        loss.backward()\n        optimizer.step()\n"
)
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Ray in this process, which all scans of these tests use."""
    with cluster.connected(None, 2):
        yield


def table_of(repos: Mapping[str, Mapping[str, Any]]) -> Rows:
    return [{"repo": r, "path": p, "content": data} for r, files in repos.items() for p, data in files.items()]


def parquet(file: Path, listed: Rows) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(listed), file)
    return file


def scan(*arguments: object) -> int:
    return main(["scan", *map(str, arguments), "--quiet"])


def read(output: Path, table: str) -> Rows:
    parts = sorted((output / table).iterdir())
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


def states(output: Path) -> dict[tuple[str, str], str]:
    return {(row["repo"], row["path"]): row["status"] for row in read(output, "files")}


def plain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The findings of a plain run in a folder, as JSON, one for each place."""
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        run = lint_paths(".", Config())
    return [json.dumps(finding_document(finding, rules_by_id(run))) for finding in run.findings]


def found(output: Path, repo: str) -> list[str]:
    return [json.dumps(results.record(row)) for row in read(output, "findings") if row["repo"] == repo]


def names(output: Path) -> set[tuple[str, str]]:
    return {(row["repo"], row["rule"]) for row in read(output, "findings")}


# -- the same findings ---------------------------------------------------------------------------


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.py"))


@pytest.mark.usefixtures("ray")
def test_the_findings_are_those_of_a_plain_run_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = sorted((path for path in FIXTURES.iterdir() if path.is_dir()), key=size)[:8]
    listed = table_of(
        {f.name: {p.relative_to(f).as_posix(): p.read_bytes() for p in sorted(f.rglob("*.py"))} for f in folders}
    )
    assert scan(parquet(tmp_path / "data.parquet", listed[::-1]), "--output", tmp_path / "out") == 1
    wanted = {folder.name: plain(folder, monkeypatch) for folder in folders}
    assert sum(map(bool, wanted.values())) > 4
    assert {folder.name: found(tmp_path / "out", folder.name) for folder in folders} == wanted


@pytest.mark.usefixtures("ray")
def test_notebooks_are_linted_as_in_a_plain_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": GUILTY,
    }
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.ipynb").write_text(notebook, encoding="utf-8")
    listed = table_of({"r": {"a.ipynb": notebook, "b.ipynb": "import torch, no notebook"}})
    assert scan(parquet(tmp_path / "data.parquet", listed), "--output", tmp_path / "out") == 1
    wanted = plain(tmp_path / "tree", monkeypatch)
    assert '"cell": 1' in wanted[0]
    assert found(tmp_path / "out", "r") == wanted
    assert states(tmp_path / "out") == {("r", "a.ipynb"): "linted", ("r", "b.ipynb"): "malformed"}


@pytest.mark.usefixtures("ray")
def test_files_in_python_2_are_listed_and_do_not_change_the_exit_status(tmp_path: Path) -> None:
    listed = table_of({"r": {"old.py": "import torch\nprint 'done'\n", "new.py": "import torch\n"}})
    data = parquet(tmp_path / "data.parquet", listed)
    assert scan(data, "--output", tmp_path / "out", "--fail-on", "info") == 0
    assert states(tmp_path / "out") == {("r", "old.py"): "syntax-error", ("r", "new.py"): "linted"}
    assert names(tmp_path / "out") == {("r", "TL000")}


@pytest.mark.usefixtures("ray")
def test_facts_of_other_files_of_a_repository_count_and_those_of_other_repositories_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"data.py": LOADER, "train.py": LOOP}
    listed = table_of({"both": both, "loader": {"data.py": LOADER}, "loop": {"train.py": LOOP}})
    scan(parquet(tmp_path / "data.parquet", listed), "--output", tmp_path / "out")
    for name, text in both.items():
        (tmp_path / "tree").mkdir(exist_ok=True)
        (tmp_path / "tree" / name).write_text(text, encoding="utf-8")
    wanted = plain(tmp_path / "tree", monkeypatch)
    assert any('"TL401"' in one for one in wanted)
    assert found(tmp_path / "out", "both") == wanted
    assert ("loader", "TL401") not in names(tmp_path / "out")


@pytest.mark.usefixtures("ray")
def test_rows_of_a_repository_in_several_files_and_formats_are_linted_together(tmp_path: Path) -> None:
    data = tmp_path / "data"
    parquet(data / "a.parquet", [{"repo": "r", "path": "data.py", "content": LOADER}])
    row = {"repo": "r", "path": "train.py", "content": LOOP, "stars": 3}
    (data / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    arrow = pa.Table.from_pylist([{"repo": "s", "path": "a.py", "content": GUILTY.encode()}])
    with pa.OSFile(str(data / "c.arrow"), "wb") as sink, pa.ipc.new_file(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    assert scan(data.as_uri(), "--output", tmp_path / "out") == 1
    assert {("r", "TL401"), ("s", "TL201")} <= names(tmp_path / "out")


@pytest.mark.usefixtures("ray")
def test_folders_of_repositories_and_archives_are_read(tmp_path: Path) -> None:
    many = tmp_path / "many"
    for repo in ("owner/one/.git", "owner/one/build", "owner/two/.git", "empty"):
        (many / repo).mkdir(parents=True)
    for file in ("owner/one/a.py", "owner/one/build/b.py", "owner/two/ignored.py", "owner/two/c.py"):
        (many / file).write_text(GUILTY, encoding="utf-8")
    (many / "owner/two/.gitignore").write_text("ignored.py\n", encoding="utf-8")
    (many / "owner/two/pyproject.toml").write_text('[tool.torchlint]\nignore = ["ALL"]\n', encoding="utf-8")
    with zipfile.ZipFile(many / "wheel.whl", "w") as wheel:
        wheel.writestr("p/a.py", GUILTY)
        wheel.writestr("p/data.json", "{}")
    with tarfile.open(many / "sdist.tar.gz", "w:gz") as sdist:
        sdist.add(many / "owner/one/a.py", "./p-1.0/a.py")
    (many / "broken.zip").write_bytes(b"PK not an archive")
    assert scan(many, "--output", tmp_path / "out") == 2
    assert states(tmp_path / "out") == {
        ("owner/one", "a.py"): "linted",
        ("owner/two", "c.py"): "linted",
        ("sdist.tar.gz", "p-1.0/a.py"): "linted",
        ("wheel.whl", "p/a.py"): "linted",
        ("wheel.whl", "p/data.json"): "not-python",
    }
    repositories = {row["repo"]: row["status"] for row in read(tmp_path / "out", "repositories")}
    assert repositories["empty"] == "empty"
    assert names(tmp_path / "out") == {(repo, "TL201") for repo in repositories if repo != "empty"}
    told = json.loads((tmp_path / "out" / "scan.json").read_text(encoding="utf-8"))
    assert [line for line in told["left_out"] if line.startswith("broken.zip: ")]


@pytest.mark.usefixtures("ray")
def test_an_archive_that_is_a_bomb_is_told_in_the_tables_and_the_scan_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    header = tarfile.TarInfo("p")
    header.type, header.size = tarfile.XHDTYPE, 8_000_000_000
    bomb = header.tobuf(tarfile.GNU_FORMAT) + bytes(20_000_000)
    files = [("p/a.py", GUILTY.encode())]
    tar(tmp_path / "in/bomb.tar.gz", files, lambda data: gzip.compress(data[:1024] + bomb))
    tar(tmp_path / "in/good.tar.gz", files)
    assert scan(tmp_path / "in", "--output", tmp_path / "out") == 2
    assert states(tmp_path / "out") == {
        ("bomb.tar.gz", "p/a.py"): "linted",
        ("bomb.tar.gz", "bomb.tar.gz"): "failed",
        ("good.tar.gz", "p/a.py"): "linted",
    }
    repositories = {row["repo"]: row["status"] for row in read(tmp_path / "out", "repositories")}
    assert repositories == {"bomb.tar.gz": "incomplete", "good.tar.gz": "linted"}
    capsys.readouterr()
    assert main(["scan", "--summary", str(tmp_path / "out")]) == 0
    assert "bomb.tar.gz: bomb.tar.gz (bomb.tar.gz): the archive has a header" in capsys.readouterr().out


# -- what is left out ----------------------------------------------------------------------------


@pytest.mark.usefixtures("ray")
def test_what_cannot_be_linted_has_a_state_and_a_reason(tmp_path: Path) -> None:
    lines = [
        {"repo": "r", "path": "a.py", "content": GUILTY},
        {"repo": "r", "path": "a.py", "content": "import torch\n"},
        {"repo": "r", "path": "b.py", "content": None},
        {"repo": "r", "path": "c.py", "content": 7},
        {"repo": "r", "path": 8, "content": GUILTY},
        {"repo": "r", "path": "d.md", "content": "# text"},
        {"repo": "r", "path": "venv/e.py", "content": GUILTY},
        {"repo": "r", "path": "f.py", "content": "import torch\n(\n"},
        {"repo": "r", "path": "g.py", "content": "import torch\n\0\n"},
        {"repo": "r", "path": "h.py", "content": "import torch\n" + "#" * MAX_BYTES},
        {"repo": None, "path": "i.py", "content": GUILTY},
        {"repo": "tests", "path": "tests/t.py", "content": GUILTY},
    ]
    text = "\n".join([*map(json.dumps, lines), "{not JSON", "[1]", ""])
    (tmp_path / "data.jsonl").write_text(text, encoding="utf-8")
    assert scan(tmp_path / "data.jsonl", "--output", tmp_path / "out", "--exclude", "tests") == 1
    listed = [(row["path"], row["status"], row["number"]) for row in read(tmp_path / "out", "files")]
    assert sorted(listed) == [
        ("", "malformed", 5),
        ("", "malformed", 13),
        ("", "malformed", 14),
        ("a.py", "duplicate", 2),
        ("a.py", "linted", 1),
        ("b.py", "malformed", 3),
        ("c.py", "malformed", 4),
        ("d.md", "not-python", 6),
        ("f.py", "syntax-error", 8),
        ("g.py", "wrong-encoding", 9),
        ("h.py", "too-large", 10),
        ("i.py", "malformed", 11),
        ("tests/t.py", "excluded", 12),
        ("venv/e.py", "excluded", 7),
    ]
    assert names(tmp_path / "out") == {("r", "TL201"), ("r", "TL000")}


@pytest.mark.usefixtures("ray")
def test_an_input_file_that_cannot_be_read_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet(tmp_path / "data/good.parquet", table_of({"r": {"a.py": GUILTY}}))
    parquet(tmp_path / "data/other.parquet", [{"repo": "s", "path": "a.py", "number": 3}])
    (tmp_path / "data/broken.parquet").write_bytes(b"PAR1 broken")
    assert scan(tmp_path / "data", "--output", tmp_path / "out") == 2
    assert names(tmp_path / "out") == {("r", "TL201")}
    assert main(["scan", "--summary", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "broken.parquet: " in told
    assert "other.parquet: no column for the content; its columns are number, path, repo" in told
    assert "The scan is not complete" in told


@pytest.mark.usefixtures("ray")
def test_a_scan_with_a_wrong_column_can_be_begun_again_in_the_same_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = parquet(tmp_path / "data.parquet", [{"owner": "r", "path": "a.py", "content": GUILTY}])
    assert scan(data, "--output", tmp_path / "out") == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("its columns are content, owner, path: name one with --repo-column")
    assert scan(data, "--output", tmp_path / "out", "--repo-column", "owner") == 1
    assert names(tmp_path / "out") == {("r", "TL201")}


@pytest.mark.usefixtures("ray")
def test_rows_that_are_all_malformed_are_a_failure(tmp_path: Path) -> None:
    row = {"owner": "r", "path": "a.py", "content": GUILTY}
    (tmp_path / "data.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert scan(tmp_path / "data.jsonl", "--output", tmp_path / "out") == 2


@pytest.mark.usefixtures("ray")
def test_a_repository_above_the_limit_is_linted_in_parts_and_says_so(tmp_path: Path) -> None:
    padding = "# padding\n" * 60_000
    files = {"data.py": LOADER + padding, "train.py": LOOP + padding}
    listed = table_of({"large": files, "small": {"a.py": GUILTY}})
    scan(parquet(tmp_path / "data.parquet", listed), "--output", tmp_path / "out", "--repository-limit", 1)
    repositories = {row["repo"]: row for row in read(tmp_path / "out", "repositories")}
    assert (repositories["large"]["status"], repositories["large"]["parts"]) == ("in-parts", 2)
    assert repositories["small"]["status"] == "linted"
    assert ("large", "TL401") not in names(tmp_path / "out")


@pytest.mark.usefixtures("ray")
def test_the_configuration_is_the_given_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("pyproject.toml").write_text('[tool.torchlint]\nignore = ["ALL"]\n', encoding="utf-8")
    listed = table_of({"r": {"pyproject.toml": '[tool.torchlint]\nignore = ["ALL"]\n', "a.py": GUILTY}})
    data = parquet(tmp_path / "data.parquet", listed)
    assert scan(data, "--output", tmp_path / "none") == 1
    assert scan(data, "--output", tmp_path / "given", "--config", "pyproject.toml") == 0
    assert scan(data, "--output", tmp_path / "selected", "--per-file-ignores", "a.py:TL2") == 0


# -- processes that die, and scans that go on ----------------------------------------------------


LOADS = GUILTY + "state = torch.load('file')\n"
MISBEHAVES = """
import os, signal
if 'deadly' in self.module.path:
    os.kill(os.getpid(), signal.SIGKILL)
if 'raising' in self.module.path:
    raise ValueError('a defect')
if 'hanging' in self.module.path:
    __import__('collections').deque(__import__('itertools').repeat(0), maxlen=0)
while 'endless' in self.module.path:
    pass"""
# A C function that hangs is given up after seconds, and not after the longer time that is right for slow machines.
IMPATIENT = "from torchlint.base import limits\nlimits.patience = lambda seconds: 4 * seconds\n"


class Scanned(NamedTuple):
    """A scan by the command, and what it left."""

    done: subprocess.CompletedProcess[str]
    folder: Path

    @property
    def output(self) -> Path:
        """The folder of its results."""
        return self.folder / "out"


@pytest.fixture(scope="module")
def misbehaved(tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """A scan of files that end, stop and break the processes that lint them, in a folder with modules of its own."""
    folder = tmp_path_factory.mktemp("misbehaved")
    rule = plugin_help.rule(body=MISBEHAVES.replace("\n", "\n        "))
    plugin_help.install(folder / "plugin", {"given_rules.py": IMPATIENT + rule}, "given_rules", dist="given-rules")
    on_the_path = [str(folder / "plugin"), *filter(None, [os.environ.get("PYTHONPATH")])]  # "" is the current folder
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(on_the_path)}
    del environment["TORCHLINT_DISABLE_PLUGINS"]
    told = f"__import__('pathlib').Path({str(folder / 'executed')!r}).touch()\n"
    here = folder / "here"
    plugin_help.install(here, {"my_rules.py": told + plugin_help.rule()})
    for name in ("pyarrow.py", "numpy.py", "json.py", "sitecustomize.py"):
        (here / name).write_text(told, encoding="utf-8")
    (here / "torchlint.toml").write_text("time-limit = 1\n", encoding="utf-8")
    paths = ("a.py", "deadly.py", "endless.py", "hanging.py", "raising.py", "z.py")
    parquet(here / "data.parquet", table_of({"r": dict.fromkeys(paths, LOADS), "s": {"a.py": GUILTY}}))
    arguments = ["data.parquet", "--output", str(folder / "out"), "--config", "torchlint.toml", "--jobs", "1"]
    command = [sys.executable, "-m", "torchlint", "scan", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=warm.HANGS, cwd=here
    )
    return Scanned(done, folder)


@pytest.mark.slow
def test_a_file_that_kills_its_process_or_raises_costs_only_itself(misbehaved: Scanned) -> None:
    assert misbehaved.done.returncode == 2, misbehaved.done.stderr
    assert not misbehaved.done.stderr
    listed = {(row["repo"], row["path"]): row for row in read(misbehaved.output, "files")}
    linted = {key for key, row in listed.items() if row["status"] == "linted"}
    assert linted == {("r", "a.py"), ("r", "z.py"), ("s", "a.py")}
    assert "the process ended" in listed["r", "deadly.py"]["reason"]
    assert "took more than 1 s" in listed["r", "endless.py"]["reason"]
    assert "a defect" in listed["r", "raising.py"]["reason"]
    assert names(misbehaved.output) == {("r", "TL201"), ("s", "TL201"), ("r", "TL000")}


@pytest.mark.slow
def test_a_file_on_which_a_c_function_hangs_costs_only_itself(misbehaved: Scanned) -> None:
    listed = {row["path"]: row for row in read(misbehaved.output, "files") if row["repo"] == "r"}
    assert "the process ended" in listed["hanging.py"]["reason"]
    assert listed["hanging.py"]["status"] == "failed"


@pytest.mark.slow
def test_nothing_in_the_current_folder_is_executed(misbehaved: Scanned) -> None:
    assert misbehaved.done.returncode == 2, misbehaved.done.stderr
    assert not (misbehaved.folder / "executed").exists()


@pytest.mark.usefixtures("ray")
def test_a_scan_goes_on_with_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    padding = "# padding\n" * 50_000
    listed = table_of({f"r{n}": {"a.py": GUILTY, "b.py": padding} for n in range(8)})
    data, output = tmp_path / "data.jsonl", tmp_path / "out"
    data.write_text("\n".join(map(json.dumps, listed)), encoding="utf-8")
    assert scan(data, "--output", output) == 1
    whole = {table: read(output, table) for table in results.TABLES}
    lost = sorted((output / "repositories").iterdir())[-1].name
    kept = {p.name: p.stat().st_mtime_ns for p in (output / "files").iterdir() if p.name != lost}
    assert len(kept) > 2
    (output / "files" / lost).write_bytes(b"PAR1 half")
    unfinished = output / "findings" / f"{lost}.0.unfinished"
    unfinished.write_bytes(b"PAR1")
    assert scan(data, "--output", output) == 2
    assert "give --resume" in capsys.readouterr().err
    assert scan(data, "--output", output, "--resume") == 1
    assert {table: read(output, table) for table in results.TABLES} == whole
    assert not unfinished.exists()
    assert {p.name: p.stat().st_mtime_ns for p in (output / "files").iterdir() if p.name != lost} == kept
    assert scan(data, "--output", output, "--resume", "--ignore", "TL2") == 2
    assert "configuration differ" in capsys.readouterr().err
    data.write_text("", encoding="utf-8")
    assert scan(data, "--output", output, "--resume") == 2
    assert "the files of the input have changed" in capsys.readouterr().err


@pytest.mark.usefixtures("ray")
def test_results_that_cannot_be_written_are_named_and_made_up_for_later(tmp_path: Path) -> None:
    data, output = parquet(tmp_path / "data.parquet", table_of({"r": {"a.py": GUILTY}})), tmp_path / "out"
    assert scan(data, "--output", output) == 1
    wanted = read(output, "findings")
    (output / "repositories" / results.part(0)).unlink()
    (output / "findings").rename(tmp_path / "aside")
    (output / "findings").write_text("no folder", encoding="utf-8")
    assert scan(data, "--output", output, "--resume") == 2
    told = json.loads((output / "scan.json").read_text(encoding="utf-8"))
    assert re.fullmatch("group 0 of 1: .*Not a directory.*", told["left_out"][0])
    (output / "findings").unlink()
    (tmp_path / "aside").rename(output / "findings")
    assert scan(data, "--output", output, "--resume") == 1
    assert read(output, "findings") == wanted


@pytest.mark.usefixtures("ray")
def test_a_disk_that_is_full_at_the_end_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, output = parquet(tmp_path / "data.parquet", table_of({"r": {"a.py": GUILTY}})), tmp_path / "out"
    write = manifest.write

    def full(store: Store, told: Mapping[str, Any]) -> None:
        if told["counts"]:
            raise OSError(28, "No space left on device")
        write(store, told)

    with monkeypatch.context() as patched:
        patched.setattr(manifest, "write", full)
        assert scan(data, "--output", output) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"torchlint: error: --output {output}: ")
    assert said.endswith("No space left on device; correct this and use --resume\n")
    assert said.count("\n") == 1
    assert scan(data, "--output", output, "--resume") == 1
    assert json.loads((output / "scan.json").read_text(encoding="utf-8"))["complete"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    store = opened(str(tmp_path))
    store.write("file", b"old")

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(store.system, name)

        def move(self, *_: object) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        store._replace(system=Full()).write("file", b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"old")]


# -- the summary ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("ray")
def test_the_summary_counts_by_rule_and_by_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repos = {"two": {"a.py": GUILTY, "b.py": GUILTY}, "one": {"a.py": GUILTY}, "none": {"a.py": "x = 1\n"}}
    data, output = parquet(tmp_path / "data.parquet", table_of(repos)), str(tmp_path / "out")
    scan(data, "--output", output)
    capsys.readouterr()
    assert main(["scan", "--summary", output]) == 0
    text = capsys.readouterr().out
    assert "Found 3 findings in 2 repositories; linted 4 files" in text
    assert re.search(r"3 +2 +66\.7% +TL201 device-round-trip", text)
    main(["scan", "--summary", output, "--output-format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert [(rule["rule"], rule["findings"], rule["repositories"]) for rule in document["rules"]] == [("TL201", 3, 2)]
    assert [one["repo"] for one in document["most"]] == ["two", "one"]


@pytest.mark.usefixtures("ray")
def test_the_page_of_a_summary_escapes_what_it_shows(tmp_path: Path) -> None:
    repos = {"<script>alert(1)</script>": {"a\x1b[31m.py": GUILTY}}
    data, output = parquet(tmp_path / "data.parquet", table_of(repos)), tmp_path / "out"
    scan(data, "--output", output)
    file = tmp_path / "scan.html"
    assert main(["scan", "--summary", str(output), "--output-format", "html", "--output-file", str(file)]) == 0
    page = file.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "TL201 device-round-trip" in page


# -- what is told in one line --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone", "--output", "out"], "gone: there is no such file or folder"),
        (["data"], "give --output DIR"),
        (["data", "--output", "full"], "is not empty and holds no scan"),
        (["data", "--output", "data/note.txt"], "is a file"),
        (["data", "--output", "out"], "holds no Parquet, JSONL or Arrow files, repositories or archives"),
        (["data/*.parquet", "--output", "out"], "matches no file"),
        (["nothing://here", "--output", "out"], "nothing://here: cannot be opened"),
        (["--summary", "full"], "holds no scan"),
        (["data", "--output", "out", "--select", "TL9999"], "TL9999"),
        (["data", "--output", "out", "--address", "auto", "--jobs", "2"], "--jobs: with --address"),
    ],
)
def test_what_cannot_be_scanned_is_told_in_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "full"):
        Path(folder).mkdir()
        Path(folder, "note.txt").write_text("text", encoding="utf-8")
    if "--output" in arguments and arguments[-1].startswith(("full", "data/")):
        parquet(Path("data/a.parquet"), table_of({"r": {"a.py": GUILTY}}))
    assert main(["scan", *arguments]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


def test_without_the_extra_the_command_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["scan", "data", "--output", "out"]) == 2
    assert 'scan needs Ray and PyArrow: pip install "torchlint[scan] @ git+https://' in capsys.readouterr().err


def test_folders_are_data_sets_or_repositories_by_what_is_in_them(tmp_path: Path) -> None:
    def kinds(folder: str) -> list[tuple[str, tuple[str, ...]]]:
        return [(piece.kind, piece.files) for piece in inputs.find(str(tmp_path / folder)).pieces]

    for file in (
        "lake/python/a.parquet",
        "lake/README.md",
        "one/.git/HEAD",
        "one/tests/a.parquet",
        "one/a.parquet",
        "many/first/.git/HEAD",
        "many/first/data/a.jsonl",
        "many/owner/second/.git/HEAD",
        "unversioned/project/a.py",
        "unversioned/project/a.parquet",
        "script/a.py",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("", encoding="utf-8")
    assert kinds("lake") == [("parquet", ("python/a.parquet",))]
    assert kinds("one") == kinds("script") == [("repositories", ("",))]
    assert kinds("many") == [("repositories", ("first", "owner/second"))]
    assert kinds("unversioned") == [("repositories", ("project",))]


# -- reading -------------------------------------------------------------------------------------


def test_a_large_file_of_lines_is_divided_without_losing_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data.jsonl"
    listed = [{"repo": "r", "path": f"{'x' * (n % 7)}{n}.py", "content": "é" * (n % 5)} for n in range(200)]
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in listed), encoding="utf-8")
    for size in (1, 37, 50, 51, 52, 1000):
        monkeypatch.setattr(inputs, "_PIECE", size)
        found = inputs.find(str(file))
        seen = [row for piece in found.pieces for row in tables.rows(found.store, piece, Columns(), rows.Reader())]
        assert [row.path for row in seen] == [one["path"] for one in listed]


def test_a_large_parquet_file_is_divided_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = table_of({f"r{n}": {"a.py": f"x = {n}\n"} for n in range(50)})
    pq.write_table(pa.Table.from_pylist(listed), tmp_path / "data.parquet", row_group_size=7)
    monkeypatch.setattr(inputs, "_PIECE", 500)
    found = inputs.find(str(tmp_path / "data.parquet"))
    assert len(found.pieces) > 2
    seen = [row for piece in found.pieces for row in tables.rows(found.store, piece, Columns(), rows.Reader())]
    assert [row.repo for row in seen] == [row["repo"] for row in listed]


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "dictionary", "view"])
def test_columns_of_text_and_bytes_of_every_type_are_read(kind: str, tmp_path: Path) -> None:
    texts = ["a.py", "b.py", None]
    types = {"dictionary": pa.dictionary(pa.int32(), pa.string()), "view": pa.string_view()}
    column = pa.array(texts, pa.string()).cast(types[kind]) if kind in types else pa.array(texts, getattr(pa, kind)())
    table = pa.table({"repo_name": column, "path": column, "text": column})
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found = inputs.find(str(tmp_path / "data.arrow"))
    seen = list(tables.rows(found.store, found.pieces[0], Columns(), rows.Reader()))
    assert [(row.path, row.content) for row in seen] == [("a.py", b"a.py"), ("b.py", b"b.py"), ("", None)]


def test_a_column_of_another_type_is_refused_by_name(tmp_path: Path) -> None:
    file = parquet(tmp_path / "data.parquet", [{"repo": "r", "path": "a.py", "content": 3}])
    found = inputs.find(str(file))
    with pytest.raises(Unreadable, match="'content' has the type int64; it must be text or bytes"):
        list(tables.rows(found.store, found.pieces[0], Columns(), rows.Reader()))


def test_text_is_linted_in_the_encoding_that_it_declares() -> None:
    text = "# -*- coding: latin-1 -*-\nname = 'Jürgen'\n"
    assert rows.encoded(text) == text.encode("latin-1")
    assert decode(rows.encoded(text)) == text
    unknown = text.replace("latin-1", "klingon")
    assert rows.encoded(unknown) == unknown.encode()


def test_the_rows_of_a_group_are_found_in_all_runs(tmp_path: Path) -> None:
    store = opened(str(tmp_path))
    listed = [rows.Reader().row(f"r{n}", "a.py", f"x = {n}\n", "data", n) for n in range(40)]
    runs, seen = groups.write_runs(listed, store, "run", 5, 40, lambda _: None)
    assert len(runs) > 3
    read_back: dict[str, bytes] = {}
    for group in seen:
        entries = groups.entries(store, runs, group)
        assert {groups.group_of(entry.repo, 5) for entry in entries} == {group}
        read_back |= {entry.repo: data for entry, data in groups.contents(store, runs, group, entries)}
    assert read_back == {row.repo: row.content for row in listed}
