"""The cache belongs to the user, and its content is validated."""

from __future__ import annotations

import copy
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchlint.base import user_cache
from torchlint.base.files import replace
from torchlint.base.shape import fits
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.config.configurations import configurations
from torchlint.model import Safety
from torchlint.project.facts import FileFacts
from torchlint.project.merged import Project
from torchlint.report import FORMATS
from torchlint.run import session
from torchlint.run.cache import NAME, Cache, for_settings
from torchlint.run.fixing.fixer import fix_files

POSIX = pytest.mark.skipif(os.name == "nt", reason="rights and links of POSIX")
ROOT_ONLY = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
GUILTY = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device)\n"
LOADER = """\
import torch
from torch.utils.data import DataLoader
from data import get_loader, pick_device

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
device = pick_device()


def train(loader, model):
    for x in loader:
        model(x.to("cuda"))


def setup_flags(fast=True):
    torch.backends.cudnn.deterministic = fast


train(get_loader(), None)
"""
OTHER = """\
import torch
from torch.utils.data import DataLoader


def get_loader():
    return DataLoader([], batch_size=4)


def pick_device():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
HOSTILE: list[Any] = [
    None,
    True,
    -1,
    2**31,
    10**4000,
    1.5,
    float("inf"),
    float("nan"),
    "",
    "\x1b[2J",
    [],
    {},
    [[]],
    [1, 2, 3, 4],
    {"seeds": {}},
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with findings, a fix, facts and questions."""
    for name, text in (("guilty.py", GUILTY), ("train.py", LOADER), ("data.py", OTHER)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def linted(*options: str) -> int:
    return main([*options, "--output-format", "concise", "--fail-on", "info", "."])


def entries(folder: Path) -> tuple[Path, dict[str, Any]]:
    (file,) = (folder / NAME).glob("*.json")
    return file, json.loads(file.read_bytes())


def sign(file: Path, document: dict[str, Any]) -> None:
    """Write entries as this user would have."""
    cache = Cache(file.parent, file.stem)
    cache._used, cache._entries, cache._changed = document["entries"], {}, True
    cache.save()


# -- who may read and write it -------------------------------------------------------------------


@POSIX
def test_the_folder_and_its_files_are_the_users_alone(tree: Path) -> None:
    before = os.umask(0)
    try:
        linted()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tree / NAME).stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tree / NAME).iterdir()} == {0o600}


@POSIX
def test_a_folder_of_torchlints_that_is_open_to_others_is_closed(tree: Path) -> None:
    (tree / NAME).mkdir(mode=0o777)
    (tree / NAME).chmod(0o777)
    linted()
    assert stat.S_IMODE((tree / NAME).stat().st_mode) == 0o700
    assert (tree / NAME / ".gitignore").exists()


@POSIX
def test_a_named_folder_keeps_its_rights_and_gets_no_file_that_hides_others(tree: Path) -> None:
    named = tree / "named"
    named.mkdir()
    named.chmod(0o755)
    linted("--cache-dir", "named")
    assert stat.S_IMODE(named.stat().st_mode) == 0o755
    assert [path.suffix for path in named.iterdir()] == [".json"]


@POSIX
def test_a_link_in_the_place_of_the_folder_is_neither_read_nor_written_through(tree: Path) -> None:
    elsewhere = tree / "elsewhere"
    elsewhere.mkdir()
    (tree / NAME).symlink_to(elsewhere)
    assert linted() == 1
    assert list(elsewhere.iterdir()) == []


def test_only_caches_are_ever_removed(tree: Path) -> None:
    named = tree / "named"
    named.mkdir()
    precious = [f"data{i}.json" for i in range(20)]
    for name in [*precious, *(f"{i:032x}.json" for i in range(20)), f".{7:032x}.json.torchlint"]:
        (named / name).write_text("{}", encoding="utf-8")
        os.utime(named / name, (1, 1))
    linted("--cache-dir", "named")
    left = {path.name for path in named.iterdir()}
    assert set(precious) <= left
    assert len(left - set(precious)) == 9


def silenced(tree: Path) -> Path:
    """A cache of this user that says that nothing is wrong."""
    linted()
    file, document = entries(tree)
    sign(file, {"entries": {key: [{}, [], "", 0] for key in document["entries"]}})
    return file


def test_what_the_user_has_written_is_read(tree: Path) -> None:
    silenced(tree)
    assert linted() == 0


@POSIX
@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_could_have_written_is_not_read(tree: Path, mode: int) -> None:
    silenced(tree).chmod(mode)
    assert linted() == 1


@ROOT_ONLY
def test_a_file_of_another_user_is_not_read(tree: Path) -> None:
    os.chown(silenced(tree), 65534, 65534)
    assert linted() == 1


@POSIX
def test_a_pipe_or_a_link_in_the_place_of_a_file_is_not_waited_for(tree: Path) -> None:
    file = silenced(tree)
    file.rename(tree / "elsewhere.json")
    file.symlink_to(tree / "elsewhere.json")
    assert linted() == 1
    file.unlink()
    os.mkfifo(file)
    assert linted() == 1


# -- what stands in it ---------------------------------------------------------------------------


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of everything in a document."""
    yield at
    if isinstance(value, (list, dict)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*at, key))


def test_whatever_stands_in_an_entry_there_is_no_traceback(tree: Path) -> None:
    """Each part of a cache is replaced by each of many wrong things: what is used is right or has the right shape."""
    paths = ["data.py", "guilty.py", "train.py"]
    plan = session.plan(Config())
    cache = for_settings(plan.rules, plan.scopes, "named")
    session.run(paths, plan, cache=cache)
    (file,) = (tree / "named").glob("*.json")
    whole = json.loads(file.read_bytes())
    places = list(leaves(whole["entries"], ("entries",)))
    assert len(places) > 60
    for place in places:
        for wrong in HOSTILE:
            entries = {"entries": copy.deepcopy(whole["entries"])}
            inner: Any = entries
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            if isinstance(entries["entries"], dict):
                check_entries(paths, entries["entries"], file)


def check_entries(paths: list[str], entries: dict[str, Any], file: Path) -> None:
    """Use entries the way a run does."""
    cache = Cache(file.parent, "none")
    cache._entries = entries
    known = {p: found for p in paths if (found := cache.get(p, Path(p).read_bytes())) is not None}
    project = Project({path: analysis.facts for path, analysis in known.items()})
    for analysis in known.values():
        analysis.is_valid_for(project)
        assert all(f.span.line < 2**31 for f in analysis.result.findings)


NESTED = b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"


@pytest.mark.parametrize("wrong", [b"[" * 200_000, NESTED], ids=["open", "closed"])
def test_deep_nesting_is_survived(tree: Path, wrong: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    linted()
    file, _ = entries(tree)
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", lambda *_, **__: wrong.decode())
        sign(file, {"entries": {}})
    (tree / "guilty.py").write_text(GUILTY + "\n", encoding="utf-8")
    assert linted() == 1


def test_a_truncated_cache_is_replaced(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    linted()
    file, whole = entries(tree)
    written = file.read_bytes()
    wanted = capsys.readouterr().out
    for size in range(0, file.stat().st_size, 397):
        file.write_bytes(written[:size])
        assert linted() == 1
        assert capsys.readouterr().out == wanted
    assert entries(tree)[1]["entries"] == whole["entries"]


# -- whose it is ---------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has not run torchlint yet."""
    folder = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def from_cache(folder: str | None = None) -> int:
    """How many files a run takes from the cache."""
    plan = session.plan(Config())
    cache = for_settings(plan.rules, plan.scopes, folder)
    return session.run(["data.py", "guilty.py", "train.py"], plan, cache=cache).from_cache


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("folder", [None, "named"])
def test_a_cache_of_another_user_is_not_trusted(
    home: Path, folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a repository brought the folder along."""
    from_cache(folder)
    assert from_cache(folder) == 3
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "another"))
    assert from_cache(folder) == 0
    assert from_cache(folder) == 3


@POSIX
@pytest.mark.usefixtures("tree")
def test_a_copy_of_the_key_is_worth_nothing(home: Path) -> None:
    """A repository brings the user's folder along, where that is in the repository."""
    from_cache()
    key = home / "torchlint" / "cache-key"
    copied = key.read_bytes()
    key.unlink()
    key.write_bytes(copied)
    key.chmod(0o600)
    assert from_cache() == 0


@pytest.mark.usefixtures("tree")
def test_an_entry_counts_only_under_the_name_that_it_was_signed_for(home: Path, tree: Path) -> None:
    del home
    from_cache()
    (file,) = (tree / NAME).glob("*.json")
    other = f"{0:032x}.json"
    file.rename(file.with_name(other))
    assert Cache(tree / NAME, other.removesuffix(".json"))._entries == {}


@POSIX
@pytest.mark.usefixtures("tree")
def test_the_key_is_the_users_alone(home: Path) -> None:
    before = os.umask(0)
    try:
        from_cache()
    finally:
        os.umask(before)
    key = home / "torchlint" / "cache-key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert [path.name for path in key.parent.iterdir()] == ["cache-key"]


def spoil(key: Path, how: str) -> None:
    held = key.read_bytes()
    if how == "link":
        key.rename(key.with_name("elsewhere"))
        key.symlink_to("elsewhere")
    elif how == "pipe":
        key.unlink()
        os.mkfifo(key)
    elif how == "short":
        key.write_bytes(held[:5])
    elif how == "long":
        key.write_bytes(held * 2)
    else:
        key.chmod(int(how, 8))


@POSIX
@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("how", ["link", "pipe", "short", "long", "0640", "0606"])
def test_a_key_that_others_could_know_is_replaced(home: Path, how: str) -> None:
    from_cache()
    key = home / "torchlint" / "cache-key"
    before = key.read_bytes()
    spoil(key, how)
    assert from_cache() == 0
    assert from_cache() == 3
    assert key.is_file() and not key.is_symlink() and key.read_bytes() != before


@ROOT_ONLY
@pytest.mark.usefixtures("tree")
def test_a_key_of_another_user_is_replaced(home: Path) -> None:
    from_cache()
    os.chown(home / "torchlint" / "cache-key", 65534, 65534)
    assert from_cache() == 0
    assert from_cache() == 3


def nowhere(how: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the user without a folder to keep a key in."""
    if how == "file":
        (home / "torchlint").write_text("", encoding="utf-8")
        return
    if how == "full":
        monkeypatch.setattr("torchlint.base.user_cache.replace", refusing)
        return
    monkeypatch.setenv("XDG_CACHE_HOME", "relative" if how == "relative" else "")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user whom the system does not know


def refusing(*_: object, **__: object) -> None:
    raise OSError(30, "Read-only file system")


@pytest.mark.parametrize("how", ["file", "full", "relative", "homeless"])
def test_without_a_folder_for_the_key_a_run_is_cold_and_right(
    tree: Path, home: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere(how, home, monkeypatch)
    before = {path.name for path in tree.iterdir()}
    assert linted() == linted() == 1
    assert {path.name for path in tree.iterdir()} == before


def test_runs_that_begin_at_once_agree_on_a_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run makes the key between this one's look for it and its own."""
    others: list[bytes | None] = []

    def late(path: Path, data: bytes) -> None:
        replace(path, data)
        monkeypatch.setattr(user_cache, "replace", replace)
        path.unlink()
        others.append(user_cache.key())

    monkeypatch.setattr(user_cache, "replace", late)
    assert user_cache.key() == others[0] == user_cache.key() is not None
    assert home.exists()


# -- repairs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_no_repair_comes_from_a_cache(tree: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even from one of this user."""
    linted()
    file, document = entries(tree)
    changed = 0
    for entry in document["entries"].values():
        for finding in entry[4:]:
            if finding[-1] is not None:
                finding[-1][3] = [[1, 1, 1, 1, "import os\n"]]
                changed += 1
    assert changed
    sign(file, document)
    main([option, "."])
    assert "import os" not in (tree / "guilty.py").read_text(encoding="utf-8") + capsys.readouterr().out


def test_files_without_findings_still_come_from_the_cache_when_others_are_repaired(tree: Path) -> None:
    linted()
    plan = session.plan(Config(root=str(tree)))
    cache = for_settings(plan.rules, plan.scopes)
    done = fix_files(["data.py", "guilty.py"], plan, Safety.SAFE, write_below=None, cache=cache)
    assert done.result.from_cache == 0  # of another configuration
    again = for_settings(plan.rules, plan.scopes)
    assert fix_files(["data.py", "guilty.py"], plan, Safety.SAFE, write_below=None, cache=again).result.from_cache == 1


def test_a_forged_edit_beyond_the_file_is_not_made(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    linted()
    file, document = entries(tree)
    for entry in document["entries"].values():
        for finding in entry[4:]:
            if finding[-1] is not None:
                finding[-1][3] = [[900, 1, 901, 1, "import os"]]
    sign(file, document)
    assert main(["--fix", "."]) in (0, 1)
    assert "device=x.device" in (tree / "guilty.py").read_text(encoding="utf-8")
    assert "import os" not in (tree / "guilty.py").read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", FORMATS)
def test_forged_findings_cannot_steer_a_terminal(tree: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    linted()
    capsys.readouterr()
    file, document = entries(tree)
    evil = "\x1b]0;owned\x07\x9b2J\u202e\u2066\u200f\u2028\r\n::error::forged"
    for entry in document["entries"].values():
        for finding in entry[4:]:
            finding[0] = finding[1] = finding[2] = finding[4] = finding[7] = finding[8] = evil
            finding[10] = [[1, 1, evil, False]]
            if finding[-1] is not None:
                finding[-1][0] = finding[-1][2] = evil
    sign(file, document)
    counted = ["--statistics"] if name in ("text", "concise") else []
    main(["--output-format", name, *counted, "-v", "--fail-on", "info", "."])
    out = capsys.readouterr().out
    assert "owned" in out
    assert [c for c in out if c != "\n" and not (c.isprintable() or c == " ")] == []
    assert not any(line.startswith("::error::forged") for line in out.splitlines())


def test_facts_of_real_files_have_the_shape_that_is_asked_for(tree: Path) -> None:
    """Else nothing would ever come from the cache."""
    linted()
    _, document = entries(tree)
    every = [entry[0] for entry in document["entries"].values()]
    assert all(fits(facts, FileFacts) for facts in every)
    assert {key for facts in every for key in facts} >= {"seeds", "configures_cudnn", "devices"}
    plan = session.plan_of(configurations("."))
    cache = for_settings(plan.rules, plan.scopes)
    for path in ("data.py", "guilty.py", "train.py"):
        assert cache.get(path, Path(path).read_bytes()) is not None
