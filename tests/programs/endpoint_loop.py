"""A loop against Chat Completions with nothing but Python: right by default, or wrong in one way.

`endpoint_loop.py [right|careless|forgetful|raw|quitter|cheerful]`, started by `zoolab endpoint chat -- ...`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

WRONG = sys.argv[1] if len(sys.argv) > 1 else "right"
TASK: dict[str, Any] = json.loads(os.environ["ZOOLAB_ENDPOINT"])
TOOLS = {tool["name"]: tool for tool in TASK["tools"]}


def ask(messages: list[Any], settings: dict[str, Any]) -> Any:
    described = [
        {"type": "function", "function": {key: tool[key] for key in ("name", "description", "parameters")}}
        for tool in TASK["tools"]
    ]
    tools = {"tools": described} if described else {}
    body = {"model": TASK["model"], "messages": messages, **tools, **settings}
    headers = {"content-type": "application/json"}
    request = Request(f"{TASK['url']}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urlopen(request) as answer:
            return json.load(answer)
    except HTTPError as error:
        said = re.sub("[^a-z]", "", error.read().decode().lower())
        kept = {name: value for name, value in settings.items() if not is_named(name, said)}
        if len(kept) == len(settings):
            raise
        return ask(messages, kept)


def is_named(setting: str, said: str) -> bool:
    words = "jsonmode" if setting == "response_format" else setting.replace("_", "")
    return words in said


def run(call: dict[str, Any]) -> str:
    """The result of a call; the text of its arguments becomes JSON."""
    function = call["function"]
    text = function["arguments"]
    try:
        arguments = json.loads(text) if text.strip() else {}
    except ValueError:
        arguments = None
    if WRONG != "raw":
        function["arguments"] = json.dumps(arguments if isinstance(arguments, dict) else {"_raw": text})
    tool = TOOLS.get(function["name"])
    if tool is None or not isinstance(arguments, dict):
        return "error: no such tool, or arguments that are not JSON"
    defaults = {
        name: schema["default"]
        for name, schema in tool["parameters"]["properties"].items()
        if "default" in schema
    }
    return str(tool["returns"].format(**{**defaults, **arguments}))


def is_whole(choice: dict[str, Any]) -> bool:
    message = choice["message"]
    if WRONG in ("careless", "cheerful"):
        return True
    return choice["finish_reason"] in ("stop", "tool_calls") and bool(
        message.get("tool_calls") or message["content"]
    )


def give_ids(calls: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for number, call in enumerate(calls):
        if not call.get("id") or call["id"] in seen:
            call["id"] = f"made{number:05}"
        seen.add(call["id"])


def main() -> None:
    messages: list[Any] = [{"role": "user", "content": TASK["prompt"]}]
    while True:
        choices = ask(messages, TASK["settings"])["choices"]
        message = choices[0]["message"]
        if not is_whole(choices[0]) or any(each["message"].get("tool_calls") for each in choices[1:]):
            sys.exit("the reply is not whole")
        calls = message.get("tool_calls", [])
        if not calls or WRONG == "quitter":
            print(message["content"])
            return
        give_ids(calls)
        if WRONG == "forgetful":
            message = {"role": "assistant", "content": message["content"], "tool_calls": calls}
            message["tool_calls"] = [{key: call[key] for key in ("id", "type", "function")} for call in calls]
        messages.append(message)
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": run(call)})


main()
