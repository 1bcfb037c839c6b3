"""Pages from templates: all that is inserted is escaped, and only the page's own style and script have an effect.

The policy names the hashes of that style and script, so that markup in a linted file stays text even if it were
inserted without escaping.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from torchlint.base.version import __version__
from torchlint.text.visible import escaped, visible_lines, without_commands

# Between a number and its unit no line ends.
_UNIT = re.compile(r"(?<=\d) (?=(?:%|us|ms|s|B|KB|MB|GB)\b|%)")
PACKAGE = "torchlint.report.html"
_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)


@cache
def environment() -> jinja2.Environment:
    """The templates of all pages."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        keep_trailing_newline=True,
    )
    made.filters["prose"] = prose
    return made


def page(template: str, **context: Any) -> str:
    """A whole page."""
    style, script = asset("report.css"), asset("report.js")
    policy = _POLICY.format(style=_digest(style), script=_digest(script))
    assets = {"version": __version__, "policy": policy, "style": Markup(style), "script": Markup(script)}
    return without_commands(environment().get_template(template).render(**assets, **context), "&#35;")


def part(template: str, macro: str, *arguments: Any) -> Markup:
    """A part of a page, from a macro of a template."""
    return Markup(getattr(_module(template), macro)(*arguments))


@cache
def _module(template: str) -> Any:
    return environment().get_template(template).module


@cache
def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return (files(PACKAGE) / "templates" / name).read_text(encoding="utf-8")


def prose(text: str) -> Markup:
    """A message with its lines, and what is between backticks as code."""
    return Markup("<br>").join(map(_line, visible_lines(text)))


def _line(text: str) -> Markup:
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its counterpart
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))


def _shown(value: Any) -> Any:
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNIT.sub("\u00a0", escaped(value))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
