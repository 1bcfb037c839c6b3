"""Options of a command line: the names under which a program reads them."""

from __future__ import annotations

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal


def attribute_of(call: cst.Call) -> str:
    """The attribute or parameter that an option of argparse or click sets; empty if the names are not literal.

    It is the ``dest``, or a name without dashes, or else the first long name.
    """
    dest = literal(keyword(call, "dest"))
    if isinstance(dest, str):
        return dest
    names = _names(call)
    chosen = [name for name in names if not name.startswith("-")][-1:] or [_name(call)]
    return chosen[0].lstrip("-").partition("/")[0].replace("-", "_")


def _name(call: cst.Call) -> str:
    """The first long name of an option, or else its first name."""
    texts = _names(call)
    return next(iter([name for name in texts if name.startswith("--")] + texts), "")


def _names(call: cst.Call) -> list[str]:
    return [name for arg in call.args if arg.keyword is None and isinstance(name := literal(arg.value), str)]
