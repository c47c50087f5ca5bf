"""A final answer with a schema: it is described to the model, and validated as arguments are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoolab.errors import InvalidInput, InvalidToolSignature
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.readonly import read_only
from zoolab.records import Message, Reply, ToolCall, Verdict
from zoolab.schema.binding import BindingError, binder
from zoolab.schema.hints import Describer
from zoolab.schema.parts import resolved
from zoolab.schema.strict import make_strict
from zoolab.steps.validate import Repairer, check_call, check_with_repair, refusal, refuse_unfinished
from zoolab.tools import Tool, ToolRegistry

__all__ = ["ANSWER_TOOL", "AnswerSchema"]

#: What the final answer is called where it is judged as a call.
ANSWER_TOOL = "answer"

_TOLD = "Your final answer has to be one JSON object and nothing else. It has to meet this JSON Schema:\n"
_AGAIN = "This is not the final answer that was asked for:\n{problems}\n" + _TOLD


class AnswerSchema:
    """What the final answer has to be: a JSON Schema, or a type such as a pydantic model."""

    def __init__(self, wanted: Any, system: str | None, repair: Repairer | None) -> None:
        self._system = system
        self._repair = repair
        self._tool = _tool_of(wanted)
        self._tools = ToolRegistry([self._tool])

    def asked_for(self, calls: str) -> tuple[str | None, Mapping[str, Any]]:
        """Return the system prompt and the fields of requests that ask for such an answer."""
        system = self._system
        schema = self._tool.parameters
        if calls != "native":  # a response_format would forbid calls in the text
            return "\n\n".join(filter(None, (system, _TOLD + encode(schema)))), read_only({})
        try:
            strict = make_strict(schema, "answer_schema") == schema
        except InvalidToolSignature:
            strict = False
        described = {"name": self._tool.name, "schema": schema, "strict": strict}
        return system, read_only({"response_format": {"type": "json_schema", "json_schema": described}})

    def check(self, reply: Reply, turn: int) -> Verdict:
        """Judge an answer: that of a reply which is not whole is refused, and no repair sees it."""
        call = ToolCall(turn, 0, "", self._tool.name, reply.text)
        if reply.is_whole:
            return check_with_repair(call, self._tools, self._repair)
        if not reply.text.strip():
            return refusal("invalid_json", "one JSON object", "an empty answer")
        return refuse_unfinished(check_call(call, self._tools), reply.shortfall)

    def complaint(self, verdict: Verdict) -> Message:
        """Make the message that tells the model what is wrong with its answer."""
        problems = "\n".join(f"- {replace(one, pointer=one.pointer or 'answer')}" for one in verdict.problems)
        text = _AGAIN.format(problems=problems) + encode(self._tool.parameters)
        return {"role": "user", "content": text}


def _tool_of(given: Any) -> Tool:
    """Make the tool whose parameters are the fields of the answer."""
    if isinstance(given, Mapping):
        tool = Tool.from_schema(ANSWER_TOOL, "The final answer.", dict(given))
    else:
        describer = Describer()
        shape = describer.describe(given, "answer_schema")
        shared = describer.definitions
        parameters = {**shape.schema, "$defs": shared} if shared else shape.schema
        bind = binder({"answer": given}) if shape.binds else None

        def check(answer: dict[str, Any]) -> dict[str, Any]:
            try:
                return answer if bind is None else bind({"answer": answer})
            except BindingError as error:
                found = error.problems
            raise BindingError(replace(one, pointer=one.pointer.removeprefix("/answer")) for one in found)

        tool = Tool(ANSWER_TOOL, "The final answer.", parameters, bind=check)
    kind = resolved(tool.parameters, tool.parameters.get("$defs", {})).get("type", "object")
    if kind != "object":
        raise InvalidInput(f"answer_schema describes {excerpt(kind)}", expected="an object with named fields")
    return tool
