"""Hooks of MkDocs: what the pages need to be a site as well as files of the repository.

The pages link to files beside the documentation, such as ``../examples/train_cifar.py``. On the site such links lead to
the repository; here they stay relative, so that they work in a checkout and on GitHub.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/torchlint/torchlint/blob/main/"
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s#]+)(#[^)\s]*)?(\))")
# The facts about a rule on its page: below the heading with its id, the first cell of the table is its topic.
_RULE = re.compile(r"# (TL\d+) `(.+)`.*?\n\| -[^\n]*\n\| (\w+) \|", re.DOTALL)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - called by MkDocs
    """Point links that leave the documentation to the repository."""
    return linked(markdown, page.file.src_uri)


def linked(markdown: str, source: str) -> str:
    """The text of the page ``source``, a path in the folder of the documentation, with such links replaced."""

    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(source), link[2]))
        if target.startswith("docs/"):
            return link[0]
        return f"{link[1]}{REPOSITORY}{target}{link[3] or ''}{link[4]}"

    return _LINK.sub(replaced, markdown)


def on_config(config: Any) -> Any:
    """Add the pages of the rules to the navigation, by topic."""
    folder = Path(config["docs_dir"])
    for section in config["nav"]:
        if "Rules" in section:
            section["Rules"] += _by_topic(folder)
    return config


def _by_topic(folder: Path) -> list[dict[str, list[dict[str, str]]]]:
    topics: dict[str, list[dict[str, str]]] = defaultdict(list)
    found = []
    for path in (folder / "rules").glob("*.md"):
        facts = _RULE.match(path.read_text(encoding="utf-8"))
        if facts is None:
            raise ValueError(f"{path}: the page of a rule begins with its id, its name and its topic")
        found.append((facts[1], facts[2], facts[3], path.relative_to(folder).as_posix()))
    for rule_id, name, topic, page in sorted(found):
        topics[topic].append({f"{rule_id} {name}": page})
    return [{topic: pages} for topic, pages in topics.items()]
