"""A request as the model reads it: one text, in tokens, with the words that the chat template adds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from zoolab.errors import InvalidInput
from zoolab.files import read_shipped, read_table
from zoolab.jsontext import visible
from zoolab.models.recording import name_without_ids
from zoolab.records import Request
from zoolab.show.markup import Html, join, tag
from zoolab.show.wording import count

#: How a part is named: what you wrote, by role, and what the template adds.
_TITLES = {"template": "added by the template", "tools": "tool schemas", "tool": "tool result"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as one text. `str` gives the tokens with a bar between them, a notebook shows a picture.

    The parts are `template` for what no message says, `tools` for the schemas, and `system`, `user`,
    `assistant` and `tool` for what messages of these roles say.
    """

    #: Whose template and whose tokens these are.
    model: str
    #: The tokens in their order, in runs that belong to the same part.
    parts: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(token for _, tokens in self.parts for token in tokens)

    @property
    def tokens(self) -> Counter[str]:
        """How many tokens each part has; `total()` is what the endpoint counts."""
        found = Counter[str]()
        for part, tokens in self.parts:
            found[part] += len(tokens)
        return found

    def __str__(self) -> str:
        return "\n".join(f"== {_title(p)} ==\n{visible('|'.join(tokens))}" for p, tokens in self.parts)

    def _repr_html_(self) -> str:
        counted = self.tokens
        sizes = ", ".join(f"{_title(part)} {size:,}" for part, size in counted.most_common())
        told = f"{self.model} reads {count(counted.total(), 'token')}: {sizes}."
        style = tag("style", Html(read_shipped("zoolab.show", "template.css")))
        parts = [_drawn(part, tokens) for part, tokens in self.parts]
        return str(join(style, tag("div", tag("p", told), *parts, class_="zoolab-prompt")))


def show_template(request: Request) -> Prompt:
    """What Qwen2.5-Coder reads instead of a request: its chat template makes one text of messages and tools.

    Tokens cannot be made without the vocabulary of the model, so those of a few recorded requests are
    kept: the first two of "What is 42 + 58?" and of "Multiply 7 by 6, then add 8." among them. Ids and
    settings of the request make no difference; times in results are those of the recording.

    Raises `InvalidInput` if the tokens of this request are not kept.

    >>> prompt = show_template(Request([{"role": "user", "content": "Say hello."}]))
    >>> prompt.tokens
    Counter({'template': 29, 'user': 3})
    >>> prompt.text.splitlines()[0]
    '<|im_start|>system'
    """
    kept = read_table("zoolab.show", "prompts.json")
    told = kept["prompts"].get(name_without_ids(Request(request.messages, request.tools)))
    if told is None:
        known = ", ".join(dict.fromkeys(f'"{each["question"]}"' for each in kept["prompts"].values()))
        expected = f"one of the first requests of {known}"
        raise InvalidInput("the tokens of this request are not kept", expected=expected)
    return Prompt(kept["model"], tuple((part, tuple(tokens)) for part, tokens in told["parts"]))


def _title(part: str) -> str:
    return _TITLES.get(part, part)


def _drawn(part: str, tokens: tuple[str, ...]) -> Html:
    """A run of tokens, each in a box; a line break is a sign, and breaks the line."""
    boxes = [tag("span", token.replace("\n", "↵\n")) for token in tokens]
    heading = tag("p", tag("strong", _title(part)), f": {count(len(tokens), 'token')}")
    return tag("div", heading, tag("pre", *boxes), class_=f"zoolab-part zoolab-of-{part}")
