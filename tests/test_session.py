"""Runs over many files: processes, cache and order never change a result."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Any

import pytest

from torchlint.config.config import Config
from torchlint.model import RunResult
from torchlint.run import session
from torchlint.run.cache import Cache
from torchlint.run.linting.file import Analysis, analyze, screen_alone
from torchlint.run.linting.screened import Screened
from torchlint.run.processes import parallel

GUILTY = "import torch\ntorch.backends.cudnn.enabled = False\n"


def tree(folder: Path, count: int = 40) -> list[str]:
    """Files of very different sizes, every third of them guilty."""
    paths = []
    for i in range(count):
        path = folder / f"file{i:02}.py"
        text = GUILTY if i % 3 == 0 else "import torch\n"
        path.write_text(text + f"x = {i}  # padding\n" * (i * 60), encoding="utf-8")
        paths.append(str(path))
    return paths


def run(paths: list[str], **options: object) -> RunResult:
    return session.run(paths, session.plan(Config()), **options)  # type: ignore[arg-type]


def test_the_number_of_processes_and_the_order_of_paths_do_not_change_the_result(tmp_path: Path) -> None:
    paths = tree(tmp_path)
    one = run(paths, jobs=1)
    assert len(one.findings) == 14
    assert run(paths, jobs=3) == one
    assert run(paths[::-1], jobs=2) == one


def test_an_unreadable_file_is_a_problem_and_the_rest_is_linted(tmp_path: Path) -> None:
    paths = [*tree(tmp_path, 4), str(tmp_path / "gone.py")]
    result = run(paths)
    assert len(result.findings) == 2
    assert [p.path for p in result.problems] == [paths[-1]]
    assert "cannot be read" in result.problems[0].message


def test_a_file_that_changes_after_it_was_read_is_linted_as_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = tree(tmp_path)
    wanted = run(paths, jobs=1)
    monkeypatch.setattr(parallel, "_forks", lambda: False)  # so that processes read the files themselves
    assert run(paths, jobs=3) == wanted
    monkeypatch.setattr(parallel, "_digest", lambda _: os.urandom(16))  # as if none of them found what was read
    assert run(paths, jobs=3) == wanted
    monkeypatch.undo()
    monkeypatch.setattr(parallel, "_forks", lambda: False)
    batches = parallel._batches

    def changed(*given: Any) -> Any:
        for path in paths:
            Path(path).write_text("import torch\n", encoding="utf-8")
        return batches(*given)

    monkeypatch.setattr(parallel, "_batches", changed)
    assert run(paths, jobs=3) == wanted


def read(pipe: tuple[int, int]) -> None:
    """Wait until another process has written to a pipe."""
    assert select.select([pipe[0]], [], [], 30)[0]
    os.read(pipe[0], 1)


def ahead_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, Screened]:
    """What is screened ahead from now on."""
    found: dict[str, Screened] = {}
    ahead = parallel._screened_ahead

    def noted(*given: Any) -> dict[str, Screened]:
        found.update(ahead(*given))
        return found

    monkeypatch.setattr(parallel, "_screened_ahead", noted)
    return found


def test_files_are_screened_ahead_while_the_analysis_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = tree(tmp_path)
    wanted = run(paths, jobs=1)
    monkeypatch.setattr(parallel, "_is_imported", lambda: False)
    # However fast the import is, all files are screened meanwhile.
    monkeypatch.setattr(parallel, "_import_analysis", lambda _: None)
    screened = ahead_of(monkeypatch)
    assert run(paths, jobs=3) == wanted
    assert sorted(screened) == sorted(paths)
    assert sum(found.parses for found in screened.values()) == len(wanted.findings)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the replacement reaches other processes by forking")
def test_screening_ahead_ends_with_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = tree(tmp_path)
    wanted = run(paths, jobs=1)
    monkeypatch.setattr(parallel, "_is_imported", lambda: False)
    begun, imported = os.pipe(), os.pipe()
    real = parallel._import_analysis

    def import_analysis(enough: Any) -> None:
        read(begun)
        real(enough)
        os.write(imported[1], b".")

    def wait_for_the_import(data: bytes, path: str, *rest: Any, **more: Any) -> Screened:
        if path == paths[1]:
            os.write(begun[1], b".")
            read(imported)
        return screen_alone(data, path, *rest, **more)

    monkeypatch.setattr(parallel, "_import_analysis", import_analysis)
    monkeypatch.setattr("torchlint.run.linting.file.screen_alone", wait_for_the_import)
    screened = ahead_of(monkeypatch)
    assert run(paths, jobs=2) == wanted
    assert sorted(screened) == paths[:2]


def test_a_process_that_dies_while_it_screens_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = tree(tmp_path)
    wanted = run(paths, jobs=1)
    monkeypatch.setattr(parallel, "_is_imported", lambda: False)
    monkeypatch.setattr("torchlint.run.linting.file.screen_alone", lambda *_, **__: os._exit(9))
    assert run(paths, jobs=2) == wanted


def dies_on_file03(data: bytes, path: str, *rest: object, **more: object) -> Analysis:
    if path.endswith("file03.py"):
        os._exit(1)
    return analyze(data, path, *rest, **more)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the replacement reaches other processes by forking")
def test_a_process_that_dies_costs_only_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    if multiprocessing.get_start_method() != "fork":
        pytest.skip("the replacement reaches other processes by forking")
    monkeypatch.setattr("torchlint.run.linting.file.analyze", dies_on_file03)
    result = run(tree(tmp_path), jobs=2)
    assert len(result.findings) == 13
    assert [Path(p.path).name for p in result.problems] == ["file03.py"]
    assert "died" in result.problems[0].message


def test_a_second_run_answers_from_the_cache_alike(tmp_path: Path) -> None:
    paths, folder = tree(tmp_path, 9), tmp_path / "cache"
    first = run(paths, cache=Cache(folder, "key"))
    second = run(paths, cache=Cache(folder, "key"))
    assert second.from_cache == 9
    assert (second.findings, second.suppressed) == (first.findings, first.suppressed)
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_changed_content_and_another_key_miss_the_cache(tmp_path: Path) -> None:
    paths, folder = tree(tmp_path, 3), tmp_path / "cache"
    run(paths, cache=Cache(folder, "key"))
    Path(paths[1]).write_text(GUILTY, encoding="utf-8")
    changed = run(paths, cache=Cache(folder, "key"))
    assert (changed.from_cache, len(changed.findings)) == (2, 2)
    assert run(paths, cache=Cache(folder, "other")).from_cache == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"format": 99, "entries": {}}',
        b'{"format": 1, "entries": []}',
        b"[" * 100_000,
        b'{"format": 1',
    ],
)
def test_a_corrupt_or_foreign_cache_is_ignored_and_replaced(tmp_path: Path, content: bytes) -> None:
    paths, folder = tree(tmp_path, 3), tmp_path / "cache"
    folder.mkdir()
    (folder / "key.json").write_bytes(content)
    assert len(run(paths, cache=Cache(folder, "key")).findings) == 1
    assert run(paths, cache=Cache(folder, "key")).from_cache == 3


def test_cached_entries_of_another_shape_are_not_trusted(tmp_path: Path) -> None:
    import json

    paths, folder = tree(tmp_path, 1), tmp_path / "cache"
    run(paths, cache=Cache(folder, "key"))
    file = folder / "key.json"
    document = json.loads(file.read_bytes())
    for bad in (
        [],
        [0, []],
        ["x"],
        [0, [1] * 11],
        None,
        [0, ["TL201", "n", "t", "fatal", "m", None, None, "f", [1, 1, 1, 1], [], None]],
    ):
        document["entries"] = dict.fromkeys(document["entries"], bad)
        file.write_text(json.dumps(document), encoding="utf-8")
        assert len(run(paths, cache=Cache(folder, "key")).findings) == 1


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert len(run(tree(tmp_path, 3), cache=Cache(blocked / "cache", "key")).findings) == 1
