"""``torchlint scan`` unpacks a limited part of each archive and says so; hostile tables cost little memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ray")
import pyarrow.parquet as pq  # noqa: E402

from torchlint.scan import archives, inputs, tables  # noqa: E402
from torchlint.scan.columns import Columns  # noqa: E402
from torchlint.scan.problems import Unreadable  # noqa: E402
from torchlint.scan.rows import Reader, Row  # noqa: E402
from torchlint.scan.store import opened  # noqa: E402

GUILTY = b"import torch\ndef f(x, device):\n    return x.cpu().clamp(0, 1).to(device)\n"
SMALL = archives.Limits(1_000_000, 50, 30)
Files = list[tuple[str, bytes]]


def tar(file: Path, files: Files, compress: Callable[[bytes], bytes] = gzip.compress) -> Path:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    file.write_bytes(compress(stream.getvalue()))
    return file


def zipped(file: Path, files: Files, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return file


def rows_of(file: Path, limits: archives.Limits = SMALL) -> list[Row]:
    return list(archives.rows_of_archive(opened(str(file.parent)), file.name, Reader(), limits))


def reasons(found: list[Row]) -> list[str]:
    return [row.reason for row in found if row.status == "failed"]


ORDINARY = [("p/a.py", GUILTY), ("p/data.bin", b"x" * 1000), ("p/b.py", b"x = 1\n" * 85 + b"#\n")]  # 512 bytes


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_archives_within_the_limits_are_read_whole(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    found = rows_of(tar(tmp_path / "a.tar.gz", [*ORDINARY, *((f"p/{n}.md", b"") for n in range(47))], compress))
    assert [(row.path, row.content) for row in found[:3]] == [
        (path, data if path.endswith(".py") else None) for path, data in ORDINARY
    ]
    assert len(found) == 50
    assert reasons(found) == []


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_files_within_the_limits_are_read_whole(tmp_path: Path, method: int) -> None:
    found = rows_of(zipped(tmp_path / "a.zip", ORDINARY, method))
    assert [row.content for row in found] == [GUILTY, None, ORDINARY[2][1]]
    assert reasons(found) == []


def test_a_large_notebook_in_an_archive_is_read_whole(tmp_path: Path) -> None:
    large = b"[" + b" " * 20_000_000 + b"]"
    for file in (
        tar(tmp_path / "a.tar.gz", [("p/a.ipynb", large)]),
        zipped(tmp_path / "a.zip", [("p/a.ipynb", large)]),
    ):
        (row,) = rows_of(file, archives.LIMITS)
        assert (row.content, row.status) == (large, "")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["p/large.py", "p/large.bin"])
def test_a_tar_file_that_unpacks_to_more_than_the_limit_is_left_early(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    files = [("p/a.py", GUILTY), (name, bytes(3_000_000)), ("p/b.py", GUILTY)]
    found = rows_of(tar(tmp_path / "bomb.tar.gz", files, compress))
    assert found[0].content == GUILTY
    (why,) = reasons(found)
    assert why.startswith("the archive unpacks to more than 0.001 GB; the files after the first ")
    assert (found[-1].repo, found[-1].path) == ("bomb.tar.gz", "bomb.tar.gz")
    assert "p/b.py" not in {row.path for row in found}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_file_that_unpacks_to_more_than_the_limit_is_left_early(tmp_path: Path, method: int) -> None:
    files = [(f"p/{n}.py", bytes(300_000)) for n in range(9)]
    found = rows_of(zipped(tmp_path / "bomb.zip", files, method))
    assert reasons(found) == ["the archive unpacks to more than 0.001 GB; the files after the first 3 were left out"]


def test_what_a_zip_file_does_not_need_is_not_unpacked(tmp_path: Path) -> None:
    found = rows_of(zipped(tmp_path / "a.zip", [("p/large.bin", bytes(3_000_000)), ("p/a.py", GUILTY)]))
    assert [row.status for row in found] == ["not-python", ""]


@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_with_too_many_members_is_left_early(tmp_path: Path, pack: Callable[[Path, Files], Path]) -> None:
    file = pack(tmp_path / f"many.{'zip' if pack is zipped else 'tar.gz'}", [(f"p/{n}.py", b"") for n in range(60)])
    found = rows_of(file)
    assert len(found) == 51
    assert reasons(found) == ["the archive has more than 50 members; the files after the first 50 were left out"]


def test_members_that_are_no_files_count(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for number in range(60):
            member = tarfile.TarInfo(f"link{number}")
            member.type = tarfile.SYMTYPE
            archive.addfile(member)
    (tmp_path / "links.tar").write_bytes(stream.getvalue())
    assert reasons(rows_of(tmp_path / "links.tar"))


@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_that_takes_too_long_is_left_early(tmp_path: Path, pack: Callable[[Path, Files], Path]) -> None:
    file = pack(tmp_path / f"slow.{'zip' if pack is zipped else 'tar.gz'}", [("p/a.py", GUILTY)] * 40)
    found = rows_of(file, SMALL._replace(seconds=1e-9))
    assert reasons(found)[0].startswith("the archive takes more than 1e-09 s to unpack; the files after")


def test_a_header_that_claims_to_be_huge_is_not_read_into_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("p")
    header.type, header.size = tarfile.XHDTYPE, 8_000_000_000
    data = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(20_000_000))
    (tmp_path / "header.tar.gz").write_bytes(data)
    (why,) = reasons(rows_of(tmp_path / "header.tar.gz", archives.LIMITS))
    assert why.startswith("the archive has a header or a list of members of more than 16 MB")


def test_members_that_were_read_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr(archives._Unpacking, "member", lambda _: kept.append(len(archive[0].members)))
    archive: list[Any] = []
    real = tarfile.open

    def opening(*arguments: Any, **named: Any) -> Any:
        archive.append(real(*arguments, **named))
        return archive[0]

    file = tar(tmp_path / "a.tar.gz", [(f"p/{n}.py", b"") for n in range(40)])
    monkeypatch.setattr(tarfile, "open", opening)
    assert len(rows_of(file)) == 40
    assert max(kept) <= 1


# -- tables --------------------------------------------------------------------------------------


def rows_of_table(file: Path) -> list[Row]:
    found = inputs.find(str(file))
    return [row for piece in found.pieces for row in tables.rows(found.store, piece, Columns(), Reader())]


def written(file: Path, table: Any) -> Path:
    if file.suffix == ".parquet":
        pq.write_table(table, file, compression="zstd")
    else:
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return file


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_text_that_many_rows_share_is_in_memory_once(tmp_path: Path, suffix: str) -> None:
    shared = "#" * 12_000_000
    contents = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array([shared]))
    paths = pa.array([f"{number}.py" for number in range(300)])
    file = written(tmp_path / f"data.{suffix}", pa.table({"repo": paths, "path": paths, "content": contents}))
    before = pa.default_memory_pool().max_memory()
    sizes = []
    found = inputs.find(str(file))
    for row in tables.rows(found.store, found.pieces[0], Columns(), Reader()):
        assert row.content is not None
        sizes.append((row.size, len(row.content)))
    assert sizes == [(12_000_000, 4_000_001)] * 300
    assert pa.default_memory_pool().max_memory() - before < 1_000_000_000


def nested(depth: int) -> Any:
    kind = pa.string()
    for _ in range(depth):
        kind = pa.struct([("a" * 200, kind)])
    return kind


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "kind",
    [nested(1), nested(40), pa.list_(pa.string()), pa.map_(pa.string(), pa.string()), pa.binary(8), pa.uuid()],
    ids=["struct", "deep", "list", "map", "fixed", "extension"],
)
def test_a_content_of_another_type_is_refused_before_it_is_read(
    tmp_path: Path, kind: Any, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = pa.array(["a.py"])
    file = written(tmp_path / f"data.{suffix}", pa.table({"repo": names, "path": names, "content": pa.nulls(1, kind)}))
    monkeypatch.setattr(tables, "_of_batch", lambda *_: pytest.fail("data was read"))
    with pytest.raises(Unreadable, match=r"^its column 'content' has the type .{1,120}; it must be text or bytes$"):
        rows_of_table(file)


class Lines(io.BytesIO):
    """A file that notes how much is read of it at once."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.read_at_once: list[int] = []

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line, or a part of it."""
        line = super().readline(size)
        self.read_at_once.append(len(line))
        return line


def test_a_line_of_json_without_an_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_LINE", 1000)
    good = json.dumps({"repo": "r", "path": "a.py", "content": "x"}).encode()
    (tmp_path / "data.jsonl.gz").write_bytes(gzip.compress(b"\n".join([good, b"x" * 30_000, good, b"y" * 5_000])))
    found = rows_of_table(tmp_path / "data.jsonl.gz")
    assert [(row.status, row.number) for row in found] == [("", 1), ("malformed", 2), ("", 3), ("malformed", 4)]
    assert found[1].reason.startswith("is not JSON: the line is longer than")
    lines = Lines(b"x" * 30_000 + b"\nshort\n")
    assert [size for _, size in tables._measured(lines)] == [30_001, 6]
    assert max(lines.read_at_once) <= 1001


def test_a_name_longer_than_any_file_system_allows_is_malformed() -> None:
    row = Reader().row("r", "a" * 5000 + ".py", "x", "data", 1)
    assert (row.status, row.reason, row.path) == ("malformed", "its path is longer than 4,096 characters", "")
