"""Result: the value, the text that it became, the message that goes back, and the call that it answers."""

from __future__ import annotations

from typing import Any

from zoolab.show.bounds import Room, pretty
from zoolab.show.moment import Moment
from zoolab.show.block_types import Block, code, facts, message_row, note
from zoolab.show.blocks import python_form
from zoolab.records import Result
from zoolab.steps.result import NotJSON, to_json_value
from zoolab.trace.codec import Shown
from zoolab.show.wording import calls_of, in_words, size

_FAR = 200


def result_blocks(moment: Moment, room: Room, result: Result) -> list[Block]:
    """How a value became a tool message, and which call that answers.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 4)
    >>> [row["what"] for row in result_blocks(moment, Room(60_000), moment.step.record)[-2]["rows"]]
    ['asked', 'answered']
    """
    last = len(moment.step.messages) - 1
    cut = f"{size(result.data_bytes)} -> {size(result.sent_bytes)}"
    blocks = _value(moment, room)
    blocks.append(code(room, "the text that the model gets", result.content))
    if result.truncated:
        blocks.append(note(room, "warn", f"Cut for the model: {cut}. The trace keeps the sizes."))
    if result.loop_detected:
        blocks.append(
            note(room, "warn", f"Loop detected: the same call, the same result, {result.repeats} times.")
        )
    row = message_row(room, last, result.message, new=True, limit=2_000)
    blocks.append({"b": "messages", "rows": [row]})
    blocks.append(_flow(moment, room, result))
    return blocks + facts(
        room,
        ("size", cut if result.truncated else size(result.data_bytes)),
        ("error", result.error_code),
        ("same call, same result", f"{result.repeats} times in a row" if result.repeats > 1 else None),
    )


def _value(moment: Moment, room: Room) -> list[Block]:
    outcome = moment.outcome
    if outcome is None:
        return [note(room, "info", "The call did not run: there is no value, only what was wrong.")]
    if outcome.error is not None:
        return [note(room, "error", f"{outcome.error.code}: {outcome.error.message}")]
    blocks = [code(room, f"the Python value, {type(outcome.value).__name__}", python_form(outcome.value))]
    if isinstance(outcome.value, Shown):
        return [code(room, "what the file keeps of the value", outcome.value.text)]
    try:
        text = pretty(to_json_value(outcome.value))
    except NotJSON as error:
        return [*blocks, note(room, "error", f"It has no form in JSON: {error}")]
    return [*blocks, code(room, "the value as JSON", text, 4_000)]


def _flow(moment: Moment, room: Room, result: Result) -> Block:
    """The line from the call to its answer, drawn by the id."""
    messages, answer = moment.step.messages, len(moment.step.messages) - 1
    rows: list[dict[str, Any]] = []
    for index in range(answer, max(-1, answer - _FAR), -1):
        message = messages[index]
        if any(call_id == result.tool_call_id for _, call_id, _ in calls_of(message)):
            rows.append(_end(room, "asked", result.tool_call_id, index, in_words(message)))
            break
    rows.append(_end(room, "answered", result.tool_call_id, answer, in_words(result.message)))
    paired = len(rows) == 2
    label = "the call and its answer" if paired else "an answer without its call: no request with it is valid"
    return {"b": "flow", "label": label, "rows": rows}


def _end(room: Room, what: str, call_id: str, index: int, text: str) -> dict[str, Any]:
    return {"what": what, "id": room.line(call_id, 80), "message": index, "text": room.line(text)}
