"""Suppression comments: which findings they suppress, and which of them are unused.

The text is scanned only if it contains ``noqa`` or ``torchlint:``, and need not parse.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from torchlint.model import UNUSED_SUPPRESSION, Edit, Finding, Fix, Safety, Severity, Span
from torchlint.retired import why_retired
from torchlint.text.comments import comments
from torchlint.text.lines import Places

_DIRECTIVE = re.compile(
    r"#[ \t]*(?:(?P<noqa>noqa\b)(?:[ \t]*:(?P<codes>[^#]*))?|torchlint:(?P<ours>[^#]*))", re.IGNORECASE
)
_WORD = re.compile(r"[ \t]*([\w-]*)[ \t]*")
_ITEM = re.compile(r"[^\s,](?:[^,]*[^\s,])?")
_NOQA_CODE = re.compile(r"[^\s,]+")
_CODE_LIKE = re.compile(r"[A-Za-z]+[0-9]+|[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+")
_OURS_LIKE = re.compile(r"TL[0-9]*", re.IGNORECASE)
_FOREIGN_LIKE = re.compile(r"[A-Z]{2,12}[0-9]{3,4}")
_NEWLINE = re.compile(r"\r\n|\r|\n")
# What separates the text after a suppression from it, and the beginning of a text that a tool would read as its own.
_SEPARATOR = re.compile(r"\s*(?:[-\u2013\u2014:,;.]+(?=\s))?\s*")
_FOR_A_TOOL = re.compile(r"[\w.-]+\s*:|no(?:qa|sec)\b|-\*-", re.IGNORECASE)
_UNUSED = "unused suppression: "
_WRITE = "write `# torchlint: ignore[TL101] reason`"


class _Removal(NamedTuple):
    """The offsets of the text to delete, and what takes its place: the sign of a comment whose text stays."""

    start: int
    end: int
    text: str = ""


class Unused(NamedTuple):
    """An unused or malformed suppression; columns count from 1, the end is exclusive.

    ``removal`` says what to delete, if deleting is all there is to do.
    """

    line: int
    column: int
    end_column: int
    message: str
    removal: _Removal | None = None


class _Directive:
    """One suppression in a comment: how to remove all of it, if that is certain, and the ranges of its codes."""

    def __init__(self, whole: _Removal | None, codes: list[tuple[int, int]]) -> None:
        self.whole, self.codes = whole, codes
        self.entries: list[_Entry] = []

    @cached_property
    def needless(self) -> bool:
        """Whether none of its codes is needed, once all findings have been matched."""
        return all(entry.judged_unused for entry in self.entries)

    def without(self, number: int) -> _Removal | None:
        """How to remove one code: with its comma, or everything if no other code is needed."""
        if not self.codes or self.needless:
            return self.whole
        if number + 1 < len(self.codes):
            return _Removal(self.codes[number][0], self.codes[number + 1][0])
        return _Removal(self.codes[number - 1][1], self.codes[number][1])


class _Entry:
    """One code of a suppression, or all codes (``None``). ``own`` means that it is written only for torchlint."""

    def __init__(
        self, place: tuple[int, int, int], code: str | None, own: bool, directive: _Directive, number: int = 0
    ) -> None:
        self.line, self.column, self.end_column = place
        self.code, self.own, self.directive, self.number = code, own, directive, number
        self.used = self.judged_unused = False

    @property
    def is_last(self) -> bool:
        return self.number + 1 == len(self.directive.codes)

    def covers(self, rule_id: str, rule_name: str) -> bool:
        return self.code is None or self.code.casefold() in (rule_id.casefold(), rule_name)


class Suppressions:
    """The suppressions in the comments of one file. Records which of them are used."""

    def __init__(self) -> None:
        self.skip_file = False
        self._entries: list[_Entry] = []
        self._malformed: list[Unused] = []

    def matches(self, rule_id: str, rule_name: str, first_line: int, last_line: int) -> bool:
        """Whether a finding of the rule in a statement on these lines is suppressed."""
        found = False
        start = bisect_left(self._entries, first_line, key=lambda entry: entry.line)
        for index in range(start, len(self._entries)):
            entry = self._entries[index]
            if entry.line > last_line:
                break
            if entry.covers(rule_id, rule_name):
                entry.used = found = True
        return found

    def lists(self) -> dict[int, int]:
        """The column behind the last rule of the first ``# torchlint: ignore[...]`` on each line that has one."""
        last = [entry for entry in self._entries if entry.own and entry.code and entry.is_last]
        return {entry.line: entry.end_column for entry in reversed(last)}

    def unused(self, known: Mapping[str, str], active: Collection[str]) -> list[Unused]:
        """The unused suppressions for torchlint, in source order.

        ``known`` maps the ids of all rules to their names; ``active`` holds the ids that ran. Call it after matching
        every finding.
        """
        complaints = list(self._malformed)
        judged = [(e, None if e.used else _complaint(e, known, active)) for e in self._entries]
        for entry, message in judged:
            entry.judged_unused = message is not None and message.startswith(_UNUSED)
        for entry, message in judged:
            if message:
                removal = entry.directive.without(entry.number) if entry.judged_unused else None
                complaints.append(Unused(entry.line, entry.column, entry.end_column, message, removal))
        accepted = {entry.line for entry in self._entries if entry.code and _is_self(entry, known)}
        return sorted(complaint for complaint in complaints if complaint.line not in accepted)


def unused_findings(
    found: Suppressions, path: str, text: str, known: Mapping[str, str], active: Collection[str]
) -> Iterator[Finding]:
    """The unused suppressions of a file as findings, with fixes that delete them."""
    complaints = found.unused(known, active)
    places = Places(text) if complaints else None
    for unused in complaints:
        span = Span(unused.line, unused.column, unused.line, unused.end_column)
        fix = None
        if unused.removal is not None and places is not None:
            start, end, text_left = unused.removal
            edit = Edit(places.span(start, end), text_left)
            fix = Fix("delete the suppression", Safety.SAFE, (edit,))
        name = "unused-suppression"
        yield Finding(UNUSED_SUPPRESSION, name, "lint", Severity.INFO, path, span, unused.message, fix=fix)


def scan(text: str) -> Suppressions:
    """Find the suppressions in a source text."""
    found = Suppressions()
    folded = text.lower()
    # Case folding never moves a character to the front, so nothing is found before this offset.
    last = max(folded.rfind("noqa"), folded.rfind("torchlint:"))
    if last < 0:
        return found
    reader = _Reader(text, found)
    for start, end in comments(text):
        if start > last:
            break
        reader.read_comment(start, end)
    return found


class _Reader:
    """Turns directives into entries and complaints, and counts lines."""

    def __init__(self, text: str, found: Suppressions) -> None:
        self._text, self._found = text, found
        self._line, self._line_start, self._counted = 1, 0, 0
        self._alone = False

    def read_comment(self, start: int, end: int) -> None:
        for number, directive in enumerate(_DIRECTIVE.finditer(self._text, start, end)):
            if number == 0:
                self._advance(start)
                self._alone = not self._text[self._line_start : start].strip()
            self._read(directive)

    def _read(self, directive: re.Match[str]) -> None:
        if not directive["noqa"]:
            self._read_own(directive)
        elif (directive["codes"] or "").strip():
            self._add(directive, list(_noqa_codes(directive)), own=False)
        else:
            self._add(directive, [], own=False)

    def _add(self, directive: re.Match[str], codes: list[tuple[int, int]], *, own: bool) -> None:
        """Add the codes of a suppression; without codes it applies to all rules."""
        group = _Directive(self._removal(directive, codes, own=own), codes)
        if not codes and not (directive["codes"] or "").strip():
            group.entries.append(_Entry(self._place(*directive.span()), None, own, group))
        for number, (start, end) in enumerate(codes):
            group.entries.append(_Entry(self._place(start, end), self._text[start:end], own, group, number))
        self._found._entries += group.entries

    def _removal(self, directive: re.Match[str], codes: list[tuple[int, int]], *, own: bool) -> _Removal | None:
        """How to remove a suppression: the text after its codes stays as a comment, unless a tool would read it."""
        start, end = directive.span()
        after = codes[-1][1] if codes else end
        if own and codes:
            after = self._text.index("]", after) + 1
        separator = _SEPARATOR.match(self._text, after, end)
        assert separator is not None
        if not re.search(r"\w", self._text[separator.end() : end]):
            return _Removal(*self._whole(start, end))
        if _FOR_A_TOOL.match(self._text, separator.end(), end):
            return None
        return _Removal(start, separator.end(), "# ")

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        """The range of a suppression with the space before it, or its line if nothing is left."""
        if self._text[end : end + 1] == "#":
            return start, end  # another comment follows it
        before = self._text[self._line_start : start]
        if not before.strip():
            newline = _NEWLINE.match(self._text, end)
            return self._line_start, newline.end() if newline else end
        return start - (len(before) - len(before.rstrip())), end

    def _read_own(self, directive: re.Match[str]) -> None:
        word = _WORD.match(self._text, directive.start("ours"), directive.end("ours"))
        assert word is not None
        name, rest = word[1].lower(), self._text[word.end() : directive.end()].rstrip()
        if name == "skip-file" and not self._alone:
            self._complain(directive, "`# torchlint: skip-file` works only on a line of its own; move it to one")
        elif name == "skip-file":
            self._found.skip_file = True
        elif name == "ignore" and not rest:
            self._add(directive, [], own=True)
        elif name == "ignore" and rest.startswith("[") and "]" in rest:
            self._read_list(directive, word.end() + 1)
        else:
            self._complain(directive, _malformed(word[1]))

    def _read_list(self, directive: re.Match[str], start: int) -> None:
        items = [item.span() for item in _ITEM.finditer(self._text, start, self._text.index("]", start))]
        if not items:
            self._complain(directive, f"suppression names no rule; {_WRITE}")
        else:
            self._add(directive, items, own=True)

    def _complain(self, directive: re.Match[str], message: str) -> None:
        self._found._malformed.append(Unused(*self._place(*directive.span()), message))

    def _place(self, start: int, end: int) -> tuple[int, int, int]:
        width = len(self._text[start:end].rstrip())
        column = start - self._line_start + 1
        return self._line, column, column + width

    def _advance(self, offset: int) -> None:
        text, start = self._text, self._counted
        newlines = text.count("\n", start, offset) + text.count("\r", start, offset)
        self._line += newlines - text.count("\r\n", start, offset)
        if newlines:
            self._line_start = max(text.rfind("\n", start, offset), text.rfind("\r", start, offset)) + 1
        self._counted = offset


def _noqa_codes(directive: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The codes of a ``noqa``, up to the first word that is not a code, which begins the explanation."""
    if directive["codes"] is None:
        return
    for item in _NOQA_CODE.finditer(directive.string, directive.start("codes"), directive.end("codes")):
        if not _CODE_LIKE.fullmatch(item[0]):
            return
        yield item.span()


def _malformed(word: str) -> str:
    if word.lower() == "ignore":
        return f"malformed suppression, which suppresses nothing; {_WRITE}"
    from torchlint.config.values import nearest

    close = nearest(word, ("ignore", "skip-file"))
    advice = f"did you mean `{close}`?" if close else f"{_WRITE} or `# torchlint: skip-file`"
    return f"unknown directive {word!r}, which suppresses nothing; {advice}"


def _complaint(entry: _Entry, known: Mapping[str, str], active: Collection[str]) -> str | None:
    """The message for an unused entry; None if it is meant for another tool."""
    if entry.code is None:
        return f"{_UNUSED}nothing is found here; remove it" if entry.own else None
    rule_id = _resolve(entry.code, known)
    if rule_id is None and (retired := why_retired(entry.code)) is not None:
        return f"{_UNUSED}{retired}; remove it"
    if rule_id is None:
        return _unknown(entry.code, known) if entry.own or _OURS_LIKE.fullmatch(entry.code) else None
    if rule_id not in active:
        return None
    return f"{_UNUSED}{rule_id} {known[rule_id]} is not found here; remove it"


def is_ours(code: str, known: Mapping[str, str]) -> bool:
    """Whether a code belongs to one of torchlint's rules, or to a retired one, or has the form of one."""
    known_one = _resolve(code, known) is not None or why_retired(code) is not None
    return known_one or _OURS_LIKE.fullmatch(code) is not None


def _resolve(code: str, known: Mapping[str, str]) -> str | None:
    folded = code.casefold()
    return next((i for i, name in known.items() if folded in (i.casefold(), name)), None)


def _is_self(entry: _Entry, known: Mapping[str, str]) -> bool:
    return entry.code is not None and _resolve(entry.code, known) == UNUSED_SUPPRESSION


def _unknown(code: str, known: Mapping[str, str]) -> str:
    from torchlint.config.values import nearest

    close = nearest(code, [*known, *known.values()])
    advice = f"did you mean {close}?" if close else "give the id or the name of a rule, or remove it"
    if _FOREIGN_LIKE.fullmatch(code) and not _OURS_LIKE.fullmatch(code) and not close:
        advice = "install the package that has it, or remove it"
    return f"unknown rule {code[:80]!r} in a suppression; {advice}"
