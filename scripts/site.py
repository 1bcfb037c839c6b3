"""Hooks of MkDocs: what the pages need to be a site as well as files of the repository.

The pages link to files beside the documentation, such as ``../examples/train_cifar.py``. On the site such links lead to
the repository; here they stay relative, so that they work in a checkout and on GitHub.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/torchlint/torchlint/blob/main/"
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s#]+)(#[^)\s]*)?(\))")
# The facts about a rule on its page: below the heading with its id is a table with its topic and group.
_RULE = re.compile(r"# (TL\d+) `([^`\n]+)`\n.*?\n\| -[^\n]*\n\| (\w+) \| (\w+) \|", re.DOTALL)
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_PROMPT = "$ "
# How much more a word on the page of a rule counts for the search than one on any other page. The rules of some groups
# find less often what somebody looks for: those that are off by default, and those that only advise.
_BOOST = 5
_LESS_BOOST = {"preview": 2, "advice": 3}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - called by MkDocs
    """Point links that leave the documentation to the repository, and let the search prefer the pages of rules."""
    if _is_rule(page):
        group = _facts(markdown, page.file.src_uri)["group"]
        page.meta["search"] = {"boost": _LESS_BOOST.get(group, _BOOST)}
    return linked(markdown, page.file.src_uri)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - called by MkDocs
    """Let the button that copies an example of a shell copy the commands only."""
    return copyable(_without_examples(content) if _is_rule(page) else content)


def _is_rule(page: Any) -> bool:
    return bool(page.file.src_uri.startswith("rules/"))


def _without_examples(content: str) -> str:
    """The HTML of a page whose programs the search does not see: they use much that the page is not about."""
    return content.replace("<pre>", "<pre data-search-exclude>")


def copyable(content: str) -> str:
    """The HTML of a page in which blocks of code with prompts say what is copied: neither prompts nor output."""

    def marked(block: re.Match[str]) -> str:
        lines = html.unescape(_TAG.sub("", block[1])).split("\n")
        commands = [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]
        return f'<code data-copy="{html.escape(chr(10).join(commands))}">{block[1]}</code>' if commands else block[0]

    return _CODE.sub(marked, content)


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
        facts = _facts(path.read_text(encoding="utf-8"), str(path))
        found.append((facts["id"], facts["name"], facts["topic"], path.relative_to(folder).as_posix()))
    for rule_id, name, topic, page in sorted(found):
        topics[topic].append({f"{rule_id} {name}": page})
    return [{topic: pages} for topic, pages in topics.items()]


def _facts(text: str, path: str) -> dict[str, str]:
    """The id, name, topic and group of the rule that a page is about."""
    facts = _RULE.match(text)
    if facts is None:
        raise ValueError(f"{path}: the page of a rule begins with its id, its name and a table of its topic and group")
    return dict(zip(("id", "name", "topic", "group"), facts.groups(), strict=True))
