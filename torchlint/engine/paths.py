"""What is known of the texts of paths, which may name a file of options."""

from __future__ import annotations

import re

from torchlint.engine.values import TEXT, Kind, Value
from torchlint.program.option_files import ANY

_PLACES = re.compile(r"\{[^{}]*\}|%[-\d.]*[sd]")  # in a template
_PARTS = 8


def text_of(value: Value) -> str:
    """A text, or the text of a number, with :data:`ANY` in place of what is not known."""
    if value.kind is Kind.TEXT:
        return value.target or ANY
    known = value.kind is Kind.CONSTANT and isinstance(value.detail, (str, int))
    return str(value.detail) if known else ANY


def joined(texts: list[str]) -> Value:
    """A text made of several."""
    found = "".join(texts[-_PARTS:])
    return Value(Kind.TEXT, target=found) if found.strip(ANY) else TEXT


def path_of(*parts: Value) -> Value:
    """A path made of parts, such as ``os.path.join(folder, name)``."""
    texts = [text_of(part).removesuffix("/") for part in parts]
    last = max((place for place, text in enumerate(texts) if text.startswith("/")), default=0)
    return joined(["/".join(texts[last:])])


def filled(template: Value, values: list[Value]) -> Value:
    """A template such as ``"configs/{}.yaml"`` with values in its places."""
    texts = iter(map(text_of, values))
    return joined([_PLACES.sub(lambda _: next(texts, ANY), text_of(template))])
