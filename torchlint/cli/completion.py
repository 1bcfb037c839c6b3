"""Shell completion: scripts of ``shtab`` that know option values, rules and paths.

``torchlint`` without a command lints, so the options of ``check`` and paths are also completed there, which ``shtab``
does not know; each shell gets a few lines for that.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import shtab

from torchlint.cli import options
from torchlint.config.select import names, selectors
from torchlint.run.rules import registry

_MAIN = "_shtab_torchlint"
_PATHS = {"PATH": shtab.FILE, "FILE": shtab.FILE, "-- SCRIPT ARGUMENTS": shtab.FILE, "DIR": shtab.DIRECTORY}

_BASH = """\
_torchlint_rules() {{  # a list with commas
  local before=""
  [[ "$1" == *,* ]] && before="${{1%,*}},"
  compgen -P "$before" -W "{selectors}" -- "${{1##*,}}"
}}
_torchlint_rule() {{
  compgen -W "{rules}" -- "$1"
}}
{main}_pos_0_COMPGEN=_shtab_compgen_files
"""
_ZSH = """\
_torchlint_rules() {{
  _values -s , rules {selectors}
}}
_torchlint_rule() {{
  compadd -- {rules}
}}
functions[{main}_only_commands]=$functions[{main}_commands]
{main}_commands() {{
  {main}_only_commands
  _files
}}
"""
_FISH = """\
function _torchlint_rules  # a list with commas
  set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r '^--?[^=]*=' ''))
  for rule in {selectors}
    echo "$before$rule"
  end
end
"""
# Bash splits `--option=value` into three words.
_BASH_EQUALS = """
_torchlint() {{
  local words=() word index cword=0
  for index in "${{!COMP_WORDS[@]}}"; do
    word="${{COMP_WORDS[index]}}"
    [[ "$word" == "=" && $index -lt $COMP_CWORD ]] && continue
    [[ "$word" == "=" ]] && word=""
    words+=("$word")
    [[ $index -le $COMP_CWORD ]] && cword=$(( ${{#words[@]}} - 1 ))
  done
  local COMP_WORDS=("${{words[@]}}") COMP_CWORD=$cword
  {main} "$@"
}}
complete -o bashdefault -F _torchlint torchlint
"""
_FISH_PATHS = 'complete -c torchlint -n {main}_using -ka "(__fish_complete_path (commandline -ct))"\n'


def script(shell: str) -> str:
    """The completion script for a shell."""
    rules = registry.load()
    known = names(rules)
    single = [*known, *known.values()]
    parser = options.parser()
    options.add_linting(parser)
    for each in _parsers(parser):
        _add_values(each, selectors(rules), single)
    words = {"main": _MAIN, "selectors": " ".join(selectors(rules)), "rules": " ".join(single)}
    before = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}.get(shell, "").format(**words)
    made = shtab.complete(parser, shell=shell, preamble=before)
    after = {"bash": _BASH_EQUALS, "fish": _FISH_PATHS}.get(shell, "").format(**words)
    return _with_paths(made) if shell == "zsh" else made + after


def _with_paths(made: str) -> str:
    """A zsh script in which what follows a path is completed as after ``check``."""
    line = f"check) _arguments -C -s ${_MAIN}_check_options ;;"
    before, found, after = made.partition(line)
    rest, end, last = after.partition("\n      esac")
    assert found and end, "the script of shtab has another form"
    return f"{before}{found}{rest}\n        *{line.removeprefix('check')}{end}{last}"


def _parsers(top: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def _add_values(parser: argparse.ArgumentParser, lists: Sequence[str], single: Sequence[str]) -> None:
    """Tell ``shtab`` what the arguments of a command are, by their placeholders in the help."""
    for action in parser._actions:
        placeholder = action.metavar
        if placeholder == "RULES":
            action.complete = _function("_torchlint_rules", lists)  # type: ignore[attr-defined]
        elif placeholder == "RULE":
            action.complete = {  # type: ignore[attr-defined]
                **_function("_torchlint_rule", single),
                "fish": " ".join(single),
            }
        elif isinstance(placeholder, str) and placeholder in _PATHS:
            action.complete = _PATHS[placeholder]  # type: ignore[attr-defined]


def _function(name: str, words: Sequence[str]) -> dict[str, str]:
    return {"bash": name, "zsh": name, "fish": f"({name})", "tcsh": f"({' '.join(words)})"}
