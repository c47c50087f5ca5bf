"""`zoolab completion`: a script that completes zoolab's commands and options in a shell."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from zoolab.commands.cli import commands_for

#: What goes into a script. A plugin may name its command in any way; a shell would expand some of them.
_WORD = re.compile(r"[A-Za-z0-9_][\w.:-]*|--?[A-Za-z][\w-]*", re.ASCII)
_HELP = "show this help message and exit"
#: How fish is told of a word, by what it begins with.
_FISH_OPTIONS = {"--": "-l", "-": "-s", "": "-a"}


@dataclass(slots=True)
class CommandPlace:
    """A command or an action of one, and what can follow it."""

    #: The words up to here, such as ("labs", "list").
    path: tuple[str, ...]
    #: Commands, actions, options and choices, with what each does.
    words: dict[str, str] = field(default_factory=lambda: {"--help": _HELP})
    #: The options that take a value, with its choices; with none of them, it is the name of a file.
    values: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    #: The commands or actions among the words.
    deeper: list[str] = field(default_factory=list[str])

    @property
    def after(self) -> str:
        """The words up to here as the scripts for bash and zsh have them."""
        return "".join(f" {word}" for word in self.path)


def print_completion(options: argparse.Namespace) -> int:
    """Print the script for the shell of the options."""
    commands = {name: {**each.told, "does": each.does} for name, each in commands_for("").items()}
    top = {
        "actions": commands,
        "options": {"--version": {"action": "store_true", "help": "show the version"}},
    }
    print(_SCRIPTS[options.shell](list(places_of((), top))), end="")
    return 0


def places_of(path: tuple[str, ...], told: Mapping[str, Any]) -> Iterator[CommandPlace]:
    """Yield the place of a command and those of its actions.

    >>> [place.path for place in places_of((), {"actions": {"labs": {"does": "x", "actions": {}}}})]
    [(), ('labs',)]
    """
    here = CommandPlace(path)
    for name, action in told.get("actions", {}).items():
        if _WORD.fullmatch(name):
            here.words[name] = _line(action["does"])
            here.deeper.append(name)
    for names, option in told.get("options", {}).items():
        choices = tuple(word for word in map(str, option.get("choices", ())) if _WORD.fullmatch(word))
        if not names.startswith("-"):
            here.words |= dict.fromkeys(choices, "")
            continue
        for name in filter(_WORD.fullmatch, names.split()):
            here.words[name] = _line(option.get("help", ""))
            if option.get("action", "append") == "append" and option.get("nargs") != "?":
                here.values[name] = choices
    yield here
    for name in here.deeper:
        yield from places_of((*path, name), told["actions"][name])


def _line(text: str) -> str:
    return " ".join(re.sub(r"[^ -~]", " ", text).split())


def _cases(rows: Mapping[str, str]) -> str:
    return "".join(f"    {quote(pattern)}) {does} ;;\n" for pattern, does in rows.items())


def _bash(places: Sequence[CommandPlace]) -> str:
    deeper = _cases({f"{each.after} {name}": 'at="$at $word"' for each in places for name in each.deeper})
    values = {
        f"{each.after} {name}": f"known={quote(' '.join(choices))}"
        for each in places
        for name, choices in each.values.items()
    }
    known = {each.after: f"known={quote(' '.join(each.words))}" for each in places}
    return f"""# zoolab completion bash: in ~/.bashrc write  eval "$(zoolab completion bash)"
_zoolab() {{
  local at="" word known=""
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [ "$word" = -- ] && return
    case "$at $word" in
{deeper}    esac
  done
  case "$at ${{COMP_WORDS[COMP_CWORD-1]}}" in
{_cases(values)}    *) case "$at" in
{_cases(known)}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$known" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o bashdefault -o default -F _zoolab zoolab
"""


def _zsh(places: Sequence[CommandPlace]) -> str:
    deeper = _cases({f"{each.after} {name}": 'at="$at $word"' for each in places for name in each.deeper})
    values = {
        f"{each.after} {name}": f"compadd -- {' '.join(choices)}; return" if choices else "_files; return"
        for each in places
        for name, choices in each.values.items()
    }
    known = {each.after: f"known=({' '.join(map(_described, each.words.items()))})" for each in places}
    return f"""#compdef zoolab
# zoolab completion zsh: in ~/.zshrc, after compinit, write  source <(zoolab completion zsh)
_zoolab() {{
  local at="" word
  local -a known
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    [[ "$word" == -- ]] && {{ _files; return }}
    case "$at $word" in
{deeper}    esac
  done
  case "$at ${{words[CURRENT-1]}}" in
{_cases(values)}  esac
  case "$at" in
{_cases(known)}  esac
  _describe zoolab known || _files
}}
compdef _zoolab zoolab
"""


def _described(word: tuple[str, str]) -> str:
    """Return a word and what it does, as zsh's `_describe` takes them.

    >>> _described(("a:b", "it's"))
    '\\'a\\\\:b:it\\'"\\'"\\'s\\''
    """
    return quote(":".join(part.replace(":", "\\:") for part in word if part))


def _fish(places: Sequence[CommandPlace]) -> str:
    lines = ["# zoolab completion fish: write it to ~/.config/fish/completions/zoolab.fish"]
    for each in places:
        seen = [f"__fish_seen_subcommand_from {word}" for word in each.path]
        if each.deeper:
            seen.append(f"not __fish_seen_subcommand_from {' '.join(each.deeper)}")
        for word, does in each.words.items():
            kind = next(option for start, option in _FISH_OPTIONS.items() if word.startswith(start))
            takes = ""
            if word in each.values:
                known = quote(" ".join(each.values[word]))
                takes = f" -x -a {known}" if each.values[word] else " -r"
            told = f" -d {_fish_quoted(does)}" if does else ""
            only = f" -n {quote('; and '.join(seen))}" if seen else ""
            lines.append(f"complete -c zoolab{only} {kind} {word.lstrip('-')}{takes}{told}")
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
