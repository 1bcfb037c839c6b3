"""One row for each file of the input: what is linted, and what is left out with the reason."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.base.globs import path_matches
from torchlint.base.limits import MAX_BYTES
from torchlint.notebook import document as notebook
from torchlint.run.discovery.discover import DEFAULT_EXCLUDES
from torchlint.run.discovery.sources import SEARCHED, is_notebook

if TYPE_CHECKING:
    from torchlint.config.config import Config

#: The states of a file.
LINTED, SYNTAX_ERROR, TOO_LARGE, ENCODING = "linted", "syntax-error", "too-large", "wrong-encoding"
NOT_PYTHON, EXCLUDED, DUPLICATE, MALFORMED, FAILED = "not-python", "excluded", "duplicate", "malformed", "failed"
#: The states of files that are linted, as far as their content allows.
CHECKED = (LINTED, SYNTAX_ERROR, TOO_LARGE, ENCODING)
#: The row of a repository without any file.
EMPTY = "empty"

_LONGEST = 4096  # characters of a name, which is the limit of file systems; longer text is no name
_DECLARED = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)


def most(path: str) -> int:
    """How many bytes of a file are looked at; a larger one is refused."""
    return notebook.MAX_BYTES if is_notebook(path) else MAX_BYTES


class Row(NamedTuple):
    """A file of the input. ``status`` is empty if it is to be linted; ``source`` and ``number`` tell its origin."""

    repo: str
    path: str
    content: bytes | None
    size: int
    status: str
    reason: str
    source: str
    number: int


class Reader(NamedTuple):
    """Makes rows; knows which files are excluded."""

    exclude: tuple[str, ...] = ()

    @staticmethod
    def of(config: Config) -> Reader:
        """The reader for a configuration; its globs apply to paths in the repositories."""
        return Reader((*config.exclude, *config.given.exclude))

    def wants(self, path: str) -> bool:
        """Whether the content of a file is needed."""
        return not self._left_out(path)

    def row(self, repo: Any, path: Any, content: Any, source: str, number: int, size: int | None = None) -> Row:
        """The row for values of any type; ``content`` is not looked at for files that are left out."""
        wrong = _wrong("repository", repo) or _wrong("path", path)
        if wrong:
            named = [value if isinstance(value, str) and len(value) <= _LONGEST else "" for value in (repo, path)]
            return Row(_valid(named[0]), _valid(named[1]), None, 0, MALFORMED, wrong, source, number)
        repo, path = _valid(repo), _valid(path)
        if out := self._left_out(path):
            return Row(repo, path, None, size or 0, *out, source, number)
        if not isinstance(content, (str, bytes)):
            why = (
                "has no content" if content is None else f"its content is a {type(content).__name__}, not text or bytes"
            )
            return Row(repo, path, None, 0, MALFORMED, why, source, number)
        data = encoded(content) if isinstance(content, str) else content
        return Row(repo, path, data[: most(path) + 1], len(data) if size is None else size, "", "", source, number)

    def malformed(self, why: str, source: str, number: int) -> Row:
        """The row for something that is none."""
        return Row("", "", None, 0, MALFORMED, why, source, number)

    def empty(self, repo: str, source: str) -> Row:
        """The row for a repository without files."""
        return Row(_valid(repo), "", None, 0, EMPTY, "", source, 0)

    def _left_out(self, path: str) -> tuple[str, str] | None:
        if not path.endswith(SEARCHED):
            return NOT_PYTHON, ""
        *folders, _ = path.split("/")
        if skipped := DEFAULT_EXCLUDES.intersection(folders):
            return EXCLUDED, f"in a folder {sorted(skipped)[0]}"
        if self.exclude and path_matches(self.exclude, path):
            return EXCLUDED, "by --exclude or the configuration"
        return None


def encoded(text: str) -> bytes:
    """The bytes of a text in the encoding that it declares, or in UTF-8 if that is impossible."""
    return recoded(text.encode("utf-8", "surrogatepass"))


def recoded(data: bytes) -> bytes:
    """The same for a text in UTF-8: a data set of texts does not keep the bytes of the files."""
    if data.isascii():
        return data
    declared = _DECLARED.search(b"\n".join(data[:400].replace(b"\r", b"\n").split(b"\n")[:2]))
    if declared is None:
        return data
    try:
        name = codecs.lookup(declared[1].decode("ascii")).name
        return data if name == "utf-8" else data.decode("utf-8").encode(name)
    except (LookupError, ValueError):
        return data


def _wrong(what: str, value: Any) -> str:
    if value is None or value == "":
        return f"has no {what}"
    if not isinstance(value, str):
        return f"its {what} is a {type(value).__name__}, not text"
    if len(value) > _LONGEST:
        return f"its {what} is longer than {_LONGEST:,} characters"
    return f"its {what} contains a NUL" if "\0" in value else ""


def _valid(text: str) -> str:
    """A text that UTF-8 can represent."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
