"""The findings that torchlint reports without a rule class: TL000 and TL001."""

from __future__ import annotations

from torchlint.groups import group_of
from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION, RuleInfo, Severity
from torchlint.rule import DOCS_URL

_SYNTAX = """\
## What it finds
A file that torchlint cannot read as Python: a syntax error, merge conflict markers, an encoding that the file does not
keep to, code nested deeper than a parser survives, a file of more than four megabytes, or one that would take more than
a gigabyte of memory or more than `time-limit` seconds (60) of processor time.

A file that is written in Python 2 is not broken: it is an `info`, whatever the configuration says, and never changes
the exit status. The text report only counts and names such files at its end. A file counts as Python 2 if its first
line names `python2`, or if the first error in it is one that only Python 3 finds (`print x`, `except E, e:`,
`raise E, "x"`, `exec "x"`, backticks, `<>`, `0777`, `10L`, `ur"x"`) and nothing in it exists only in Python 3, such as
f-strings.

Every file that names torch is read, whatever rules are selected. In other files there is nothing to find: they count as
checked, and their syntax errors are left to Python.

## Why it costs
Nothing in the file is checked.

## Instead
Correct the file, or leave it out with `exclude`; convert Python 2 first. A file that takes too long is worth a report
as well.

## When to leave it
A file that is broken on purpose belongs into `exclude`. The rule cannot be turned off.

## Fix safety
No fix is offered.

## Confirmed by
No run is needed.

## Sources
- [The Python language reference](https://docs.python.org/3/reference/)
"""

_UNUSED = """\
## What it finds
A comment `# torchlint: ignore[..]`, or a `# noqa` with one of torchlint's codes, that suppresses nothing; one
that names a rule that does not exist; one that is misspelt. A bare `# noqa`, and codes of other tools, are not judged.

## Why it costs
It will hide the next finding on this line.

## Instead
Delete the comment, or the code in it.

## When to leave it
Turn the rule off with `ignore = ["TL001"]` if the same files are also linted with other rules or versions.

## Fix safety
Deleting the comment, or the code in it, is safe: nothing that runs changes. The text after the codes stays as a
comment. If another tool would read that as its own, such as `type: ignore`, there is no fix. What is misspelt or
unknown is left to you.

## Confirmed by
No run is needed.

## Sources
- [How torchlint reads suppressions](https://github.com/torchlint/torchlint/blob/main/docs/configuration.md#suppressions)
"""


def _info(rule_id: str, name: str, severity: Severity, summary: str, documentation: str, fix: str) -> RuleInfo:
    made = RuleInfo(
        id=rule_id,
        name=name,
        topic="lint",
        severity=severity,
        summary=summary,
        default=True,
        fix=fix,
        since="0.1.0",
        documentation=documentation,
        url=DOCS_URL.format(name=name),
    )
    return made._replace(group=group_of(made))


BUILT_IN = (
    _info(SYNTAX_ERROR, "syntax-error", Severity.ERROR, "The file cannot be read as Python", _SYNTAX, "never"),
    _info(
        UNUSED_SUPPRESSION,
        "unused-suppression",
        Severity.INFO,
        "A suppression suppresses nothing",
        _UNUSED,
        "sometimes",
    ),
)
