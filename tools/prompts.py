"""How Qwen's chat template turns requests into tokens: `python -m tools.prompts`.

Writes `zoolab/show/prompts.json` for `show_template`, from the requests of recordings. The template and the
vocabulary are those in the file of the weights; `tokenizers` and `jinja2` must be installed. A request is
kept only if its number of tokens is the one that llama.cpp counted when it was recorded.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from zoolab.models import weights
from zoolab.models.recording import Recording, name_without_ids
from zoolab.records import Request

TARGET = Path(__file__).parents[1] / "zoolab" / "show" / "prompts.json"
#: Longer conversations are not told: their pictures say nothing new.
MOST_MESSAGES = 3
#: The recordings, and the questions of theirs that are told.
QUESTIONS = {
    "qwen-course-00": ["Say hello.", "What is 42 + 58?"],
    "qwen-starter": ["What is 42 + 58?"],
    "qwen-walk": ["Multiply 7 by 6, then add 8."],
}
# How Qwen 2 cuts text before it looks words up; llama.cpp has the same expression, named "qwen2".
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9
SPECIAL = (3, 4)


def header_of(file: BinaryIO) -> dict[str, Any]:
    """The metadata at the beginning of a GGUF file."""

    def number(form: str) -> Any:
        return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))[0]

    def value(kind: int) -> Any:
        if kind == TEXT:
            return file.read(number("Q")).decode()
        if kind == LIST:
            inner, length = number("I"), number("Q")
            return [value(inner) for _ in range(length)]
        return number(NUMBERS[kind])

    assert file.read(4) == b"GGUF"
    number("I"), number("Q")  # the version, and how many tensors there are
    return {value(TEXT): value(number("I")) for _ in range(number("Q"))}


def tokenizer_of(header: dict[str, Any]) -> Any:
    """The tokenizer that the metadata describes."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

    words, kinds = header["tokenizer.ggml.tokens"], header["tokenizer.ggml.token_type"]
    merges = [tuple(pair.split(" ")) for pair in header["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=merges))
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(WORDS), "isolated"), to_bytes])
    special = [word for word, kind in zip(words, kinds, strict=True) if kind in SPECIAL]
    made.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in special])
    return made


def template_of(header: dict[str, Any]) -> Any:
    """The chat template, as llama.cpp reads it."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(header["tokenizer.chat_template"])


def with_objects(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the arguments of calls as objects, as llama.cpp gives them to a template."""
    given: list[dict[str, Any]] = json.loads(json.dumps(messages))
    for message in given:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return given


def own(messages: list[dict[str, Any]], tools: list[Any]) -> Iterator[tuple[str, str]]:
    """What the template takes over word by word, in the order in which it comes, each with its part."""
    system = [message for message in messages[:1] if message["role"] == "system"]
    yield from (("system", message["content"]) for message in system)
    yield from (("tools", json.dumps(tool, ensure_ascii=False)) for tool in tools)
    for message in messages[len(system) :]:
        if message.get("content"):
            yield message["role"], message["content"]
        for call in message.get("tool_calls", ()):
            yield "assistant", call["function"]["name"]
            yield "assistant", json.dumps(call["function"]["arguments"], ensure_ascii=False)


def parts_of(text: str, pieces: Iterator[tuple[str, str]], encoded: Any) -> list[tuple[str, list[str]]]:
    """The tokens in runs of the same part; what no message says was added by the template."""
    owner, at = ["template"] * len(text), 0
    for part, piece in pieces:
        at = text.index(piece, at)
        owner[at : at + len(piece)] = [part] * len(piece)
        at += len(piece)
    found: list[tuple[str, list[str]]] = []
    for start, end in encoded.offsets:
        if not found or found[-1][0] != owner[start]:
            found.append((owner[start], []))
        found[-1][1].append(text[start:end])
    return found


def prompts() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each request, and how it is told."""
    record = weights.lookup("qwen")
    with weights.find(record).open("rb") as file:
        header = header_of(file)
    tokenizer, template = tokenizer_of(header), template_of(header)
    for name, questions in QUESTIONS.items():
        recording = Recording(name)
        for body in recording.requests:
            asked = next(message["content"] for message in body["messages"] if message["role"] == "user")
            if asked not in questions or len(body["messages"]) > MOST_MESSAGES:
                continue
            messages, tools = with_objects(body["messages"]), body.get("tools", [])
            text = template.render(messages=messages, tools=tools, add_generation_prompt=True)
            encoded = tokenizer.encode(text, add_special_tokens=False)
            response = recording.response(recording.key_of(body)) or {}
            if len(encoded.ids) == response["usage"]["prompt_tokens"]:
                request = Request(body["messages"], tuple(tools))
                told = {"question": asked, "parts": parts_of(text, own(messages, tools), encoded)}
                yield name_without_ids(request), told


def main() -> None:
    """Write the file."""
    lines = [f"{json.dumps(name)}: {json.dumps(told, ensure_ascii=False)}" for name, told in prompts()]
    title = json.dumps(weights.lookup("qwen").title)
    TARGET.write_text(f'{{"model": {title}, "prompts": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(lines)} requests, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
