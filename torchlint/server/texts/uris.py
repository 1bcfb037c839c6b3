"""URIs of documents: their paths, and which are linted."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from pygls.uris import to_fs_path, uri_scheme

_SCHEMES = ("file", "untitled")  # not those of editors for other versions of a file, such as `git`
_SUFFIXES = (".py", ".pyw", ".pyi")


def is_wellformed(uri: str) -> bool:
    """Whether a text is a URI, and the path in it a possible path."""
    try:
        return bool(urlsplit(uri).scheme) and "\0" not in unquote(uri)
    except ValueError:
        return False


def path_of(uri: str) -> str | None:
    """The absolute path of a file, with forward slashes; None for documents that are in no file."""
    path = to_fs_path(uri) if is_wellformed(uri) else None
    return os.path.normpath(path).replace(os.sep, "/") if path else None


def is_linted(uri: str, language: str | None) -> bool:
    """Whether a document is Python in a file, or to be saved in one."""
    return uri_scheme(uri) in _SCHEMES and (language == "python" or uri.endswith(_SUFFIXES))
