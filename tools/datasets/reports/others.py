"""The reports about Responses, Anthropic's Messages, Gemini's generateContent and Ollama's chat."""

from __future__ import annotations

from tools.datasets.reports.forms import (
    JSON,
    Said,
    anthropic,
    gemini,
    ollama,
    ollama_call,
    response_call,
    response_text,
    responses,
    use,
)
from tools.datasets.reports.row import CLEAN, NO_CLEANUP, NOON, OSLO, TIME, WEATHER, done, report

_MUST_TELL = "Run nothing of the last call, tell the model or the caller why, and call the end no answer."
_CUT: JSON = {"prompt": CLEAN, "must_not_run": NO_CLEANUP}
_RIGHT: JSON = {"prompt": WEATHER, "must_run": [OSLO]}
_OSLO = '{"city": "Oslo"}'
_BOTH: JSON = {"prompt": "How is the weather in Oslo, and what time is it?", "must_run": [OSLO, NOON]}


def of_anthropic() -> list[JSON]:
    """Return the rows of Messages."""
    end = done("anthropic")
    text = {"type": "text", "text": "I clean up."}
    signed = [
        {"type": "thinking", "thinking": "First the weather.", "signature": "c2lnbmVkMQ=="},
        {"type": "thinking", "thinking": "Then the time.", "signature": "c2lnbmVkMg=="},
    ]
    weather = use("toolu_01", "get_weather", {"city": "Oslo"})
    time = use("toolu_02", "get_time", {})
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    unknown = use("toolu_02", "send_mail", {})
    return [
        report(
            "anthropic-cut-empty-input",
            "cut call",
            ["mattmezza/humux #77", "deepset-ai/haystack-core-integrations #3982"],
            "The limit of tokens cut the reply after the tool's name, and the call came with the input {}.",
            _MUST_TELL,
            [anthropic([text, use("toolu_01", "cleanup", {}, "")], "max_tokens", "cut"), end],
            **_CUT,
        ),
        report(
            "anthropic-cut-some-keys",
            "cut call",
            ["deepset-ai/haystack-core-integrations #3982", "jaseci-labs/jac #6766"],
            "The cut call came with the keys that had come, and the tool ran without those that had not.",
            _MUST_TELL,
            [anthropic([_new("toolu_01")], "max_tokens", "cut"), end],
            **_CUT,
        ),
        report(
            "anthropic-context-window",
            "cut call",
            ["turnstonelabs/turnstone #1162", "14790897/MiqroForge-Desktop #1100"],
            "The context window was full. Its stop_reason is another one, and the call ran.",
            _MUST_TELL,
            [
                anthropic([use("toolu_01", "cleanup", {}, "")], "model_context_window_exceeded", "cut"),
                end,
            ],
            **_CUT,
        ),
        report(
            "anthropic-refusal",
            "filtered call",
            ["14790897/MiqroForge-Desktop #1100", "ai-dynamo/dynamo #13791"],
            "The API stopped the reply as a refusal after the name of the tool.",
            _MUST_TELL,
            [anthropic([text, use("toolu_01", "cleanup", {}, "")], "refusal", "filtered"), end],
            **_CUT,
        ),
        report(
            "anthropic-no-end",
            "stream without an end",
            ["BerriAI/litellm #32159", "NousResearch/hermes-agent #81017"],
            "The stream ended in the middle of a call, without message_stop, and the call ran with {}.",
            _MUST_TELL,
            [anthropic([use("toolu_01", "cleanup", {}, "")], None, "cut"), end],
            **_CUT,
        ),
        report(
            "anthropic-blank-input",
            "blank arguments",
            ["getomnico/omni #402", "BerriAI/litellm #5063", "bigduu/Bamboo-agent #351, #359"],
            "A tool without parameters streams a blank input. It was called broken, or went back as a text.",
            "Run it with {}, and send an object back.",
            [anthropic([use("toolu_01", "get_time", {}, "")], "tool_use", "calls"), end],
            prompt=TIME,
            must_run=[NOON],
        ),
        report(
            "anthropic-empty-text",
            "an empty message goes back",
            ["anthropics/anthropic-sdk-python #461", "glowingjade/obsidian-smart-composer #156"],
            "An empty text stood beside the call. It went back, and the API takes no empty text.",
            "Leave the empty text out of what goes back.",
            [anthropic([{"type": "text", "text": ""}, weather], "tool_use", "calls"), end],
            **_RIGHT,
        ),
        report(
            "anthropic-empty-turn",
            "empty end",
            ["NousResearch/hermes-agent #83882", "run-llama/llama_index #17278, #17921"],
            "The reply was empty and counted as an answer. It went back, and the API takes no empty turn.",
            "Call the end no answer, and never send an empty turn.",
            [anthropic([], "end_turn", "empty"), end],
            prompt=TIME,
        ),
        report(
            "anthropic-same-ids",
            "ids",
            ["NachoSEO/claudegram #12", "anthropics/claude-code #28515"],
            "Two calls had the same id, and the next request was a 400.",
            "Run both, and give each an id of its own.",
            [anthropic([weather, {**time, "id": "toolu_01"}], "tool_use", "calls"), end],
            **_BOTH,
        ),
        report(
            "anthropic-result-for-each-call",
            "a call without a result",
            ["anomalyco/opencode #10616, #3230", "LionSR/TeXRA #7163"],
            "One of two calls did not run and got no result, and the next request was a 400.",
            "Give each call a result; that of an unknown tool is an error.",
            [anthropic([weather, unknown], "tool_use", "calls"), end],
            **_RIGHT,
        ),
        report(
            "anthropic-thinking-between-calls",
            "order of what goes back",
            ["NousResearch/hermes-agent #35975, #41266", "gotgenes/pi-anthropic-auth #66"],
            "Signed thinking stood between two calls. It was moved before both, and the API answered 400.",
            "Send thinking and calls back in the order in which they came.",
            [anthropic([signed[0], weather, signed[1], time], "tool_use", "calls"), end],
            refuses=["thinking"],
            **_BOTH,
        ),
        report(
            "anthropic-thinking-is-kept",
            "a field that must come back",
            ["anomalyco/opencode #3077", "Kilo-Org/kilocode #5219", "run-llama/llama_index #18834"],
            "The thinking before a call was dropped, and the API wanted it first in the turn.",
            "Send thinking and redacted_thinking back as they came.",
            [anthropic([signed[0], hidden, weather], "tool_use", "calls"), end],
            must_return=[signed[0], hidden],
            refuses=["thinking"],
            **_RIGHT,
        ),
        report(
            "anthropic-rejected-temperature",
            "a rejected setting",
            ["odysseus-dev/odysseus #3065", "HKUDS/nanobot #3418", "earendil-works/pi #5251"],
            "Newer models take no temperature, and each request of the client was a 400.",
            "Send the request again without the setting, and say so.",
            [done("anthropic", "It is noon.")],
            prompt=TIME,
            settings={"temperature": 0},
            rejects=[_no_temperature("`temperature` is deprecated for this model.")],
        ),
        report(
            "anthropic-top-p-alone",
            "a rejected setting",
            ["langfuse/langfuse #9882", "Vali-98/ChatterUI #564", "SalesforceAIResearch/MCP-Universe #49"],
            "The client sent its own temperature beside the top_p it was given; models take one of them.",
            "Send the top_p that was asked for, without a temperature.",
            [done("anthropic", "It is noon.")],
            prompt=TIME,
            settings={"top_p": 0.9},
            rejects=[_no_temperature(_ONE_OF_TWO)],
        ),
        report(
            "anthropic-input-at-once",
            "which delta belongs to which call",
            ["Yeachan-Heo/gajae-code #1895"],
            "A gateway sent the whole input with the event that begins the call, which ran with {}.",
            "Run the call with its input.",
            [_begun_with_input(anthropic([weather], "tool_use", "calls"), deltas=False), end],
            **_RIGHT,
        ),
        report(
            "anthropic-input-twice",
            "which delta belongs to which call",
            ["inflaborg/ccrelay #119"],
            "A gateway sent the whole input with the event that begins the call, and in pieces after it.",
            "Run the call once, with its input.",
            [_begun_with_input(anthropic([weather], "tool_use", "calls"), deltas=True), end],
            **_RIGHT,
        ),
    ]


def _new(id: str) -> JSON:
    return use(id, "cleanup", {"path": "/data/new"}, '{"path": "/data/new"')


def _begun_with_input(said: Said, *, deltas: bool) -> Said:
    """Return a message whose call has its input in the first event, and in the deltas as well or not."""
    begin = "content_block_start"
    more = "content_block_delta"
    events = [dict(event) for event in said.streamed if deltas or event["type"] != more]
    for event in events:
        if event["type"] == begin:
            event["content_block"] = {**event["content_block"], "input": {"city": "Oslo"}}
    return Said(said.plain, events, said.end)


_ONE_OF_TWO = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."


def _no_temperature(words: str) -> JSON:
    error = {"type": "invalid_request_error", "message": words}
    body = {"type": "error", "error": error}
    return {"setting": "temperature", "when": "always", "status": 400, "body": body}


def _without_deltas(said: Said) -> Said:
    """Return a response whose call has its arguments in one event alone."""
    kept = ("response.created", "response.output_item.added", "response.function_call_arguments.done")
    last = {**said.streamed[-1], "response": {**said.streamed[-1]["response"], "output": []}}
    return Said(said.plain, [*(e for e in said.streamed if e["type"] in kept), last], said.end)


def of_responses() -> list[JSON]:
    """Return the rows of Responses."""
    end = done("responses")
    partial = response_call("call_a01", "cleanup", '{"path": "/data/new"}', status="incomplete")
    blank = response_call("call_a01", "cleanup", "", status="incomplete")
    weather = response_call("call_a01", "get_weather", _OSLO)
    time = response_call("call_a02", "get_time", "{}")
    thoughts = [
        {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"c2lnbmVk{n}"}
        for n in (1, 2)
    ]
    no_status = {key: value for key, value in weather.items() if key != "status"}
    shouted = {"error": {"code": "server_error", "message": "The model stopped."}}
    return [
        report(
            "responses-incomplete",
            "cut call",
            ["OpenRouterTeam/typescript-agent #125", "LibreChat-AI/agents #280"],
            "The response was incomplete: the limit of tokens cut a call, which ran with the keys it had.",
            _MUST_TELL,
            [_incomplete([partial], "max_output_tokens", "cut"), end],
            **_CUT,
        ),
        report(
            "responses-incomplete-blank",
            "cut call",
            ["OpenRouterTeam/typescript-agent #125", "jundot/omlx #2817"],
            "The response was incomplete before any argument came, and the call ran with its defaults.",
            _MUST_TELL,
            [_incomplete([blank], "max_output_tokens", "cut"), end],
            **_CUT,
        ),
        report(
            "responses-filtered",
            "filtered call",
            ["apache/airflow #72150", "NVIDIA-NeMo/Gym #2628"],
            "The response was incomplete because of a filter, and the call ran.",
            _MUST_TELL,
            [_incomplete([blank], "content_filter", "filtered"), end],
            **_CUT,
        ),
        report(
            "responses-failed",
            "failed end",
            ["openai/openai-agents-python #3106", "langchain-ai/langchain #39039"],
            "The response failed after some text, and that text counted as the answer.",
            "Call the end no answer.",
            [responses([response_text("The folder")], "failed", "failed", **shouted), end],
        ),
        report(
            "responses-no-end",
            "stream without an end",
            ["lidge-jun/opencodex #2156", "CommandCodeAI/command-code #785"],
            "The stream ended in the middle of a call, without an event for the end.",
            _MUST_TELL,
            [responses([blank], None, "cut"), end],
            **_CUT,
        ),
        report(
            "responses-empty",
            "empty end",
            ["jundot/omlx #2817", "mistralai/mistral-vibe #130"],
            "The response was completed and held reasoning alone, and counted as an answer.",
            "Call the end no answer.",
            [responses([thoughts[0]], "completed", "empty"), end],
            prompt=TIME,
        ),
        report(
            "responses-no-status",
            "which delta belongs to which call",
            ["router-for-me/CLIProxyAPI #5851"],
            "The items of a response had no status, and the client did not see the call.",
            "Run the call.",
            [responses([no_status], "completed", "calls"), end],
            **_RIGHT,
        ),
        report(
            "responses-arguments-at-once",
            "which delta belongs to which call",
            ["BerriAI/litellm #27144", "anomalyco/opencode #44862"],
            "The arguments came whole in their last event, without deltas, and the call ran with {}.",
            "Run the call with its arguments.",
            [_without_deltas(responses([weather], "completed", "calls")), end],
            **_RIGHT,
        ),
        report(
            "responses-blank-arguments",
            "blank arguments",
            ["MadSkittles/Router-Maestro #162", "petersalomonsen/javascriptmusic #208"],
            "A whole call without arguments went back with a blank text, which is not JSON.",
            "Run it with {}, and send {} back.",
            [responses([response_call("call_a01", "get_time", "")], "completed", "calls"), end],
            prompt=TIME,
            must_run=[NOON],
        ),
        report(
            "responses-result-for-each-call",
            "a call without a result",
            ["langchain-ai/deepagentsjs #150", "LionSR/TeXRA #7171"],
            "One of two calls did not run and got no output, and the next request was a 400.",
            "Give each call an output; that of an unknown tool is an error.",
            [responses([time, response_call("call_a03", "send_mail", "{}")], "completed", "calls"), end],
            prompt=TIME,
            must_run=[NOON],
        ),
        report(
            "responses-reasoning-between-calls",
            "order of what goes back",
            ["QwenLM/qwen-code #8169", "vercel/ai #7099", "rikkahub/rikkahub #1690"],
            "Each call followed its own reasoning. All reasoning was moved to the front, and that is a 400.",
            "Send each reasoning item back directly before the item that followed it.",
            [responses([thoughts[0], weather, thoughts[1], time], "completed", "calls"), end],
            refuses=["reasoning"],
            **_BOTH,
        ),
        report(
            "responses-reasoning-is-kept",
            "a field that must come back",
            ["0xPlaygrounds/rig #751", "continuedev/continue #10018, #11994", "qbit-ai/qbit #180"],
            "A call went back without its reasoning item, and the API answered 400.",
            "Send the reasoning item back, with what is encrypted in it.",
            [responses([thoughts[0], weather], "completed", "calls"), end],
            must_return=[{"type": "reasoning", "id": "rs_1", "encrypted_content": "c2lnbmVk1"}],
            **_RIGHT,
        ),
    ]


def _incomplete(items: list[JSON], reason: str, end: str) -> Said:
    return responses(items, "incomplete", end, incomplete_details={"reason": reason})


def of_gemini() -> list[JSON]:
    """Return the rows of Gemini's generateContent."""
    end = done("gemini")
    cut = {"functionCall": {"name": "cleanup", "args": {}}}
    weather = {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}
    time = {"functionCall": {"name": "get_time", "args": {}}}
    unknown = {"functionCall": {"name": "send_mail", "args": {}}}
    rome = {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}}
    signed = {"thoughtSignature": "c2lnbmVk"}
    text = {"text": "I look it up."}
    called = gemini([weather], "STOP", "calls")
    return [
        report(
            "gemini-max-tokens",
            "cut call",
            ["NousResearch/hermes-agent #43478", "use-brian/use-brian #258"],
            "The finishReason was MAX_TOKENS. The client called it tool_calls, because a call had come.",
            _MUST_TELL,
            [gemini([cut], "MAX_TOKENS", "cut"), end],
            **_CUT,
        ),
        report(
            "gemini-safety",
            "filtered call",
            ["NousResearch/hermes-agent #43478", "use-brian/use-brian #258"],
            "The finishReason was SAFETY, and the call ran.",
            _MUST_TELL,
            [gemini([cut], "SAFETY", "filtered"), end],
            **_CUT,
        ),
        report(
            "gemini-no-end",
            "stream without an end",
            ["google/adk-go #442", "justrach/codegraff #146"],
            "The stream ended without a finishReason, and the call ran.",
            _MUST_TELL,
            [gemini([cut], None, "cut"), end],
            **_CUT,
        ),
        report(
            "gemini-malformed-call",
            "failed end",
            ["NousResearch/hermes-agent #83869, #83882", "Wei-Shaw/sub2api #7081", "inngest/agent-kit #178"],
            "The API said that the call was malformed and gave nothing, and that counted as an answer.",
            "Call the end no answer.",
            [gemini([], "MALFORMED_FUNCTION_CALL", "failed"), end],
        ),
        report(
            "gemini-stop-before-the-call",
            "which delta belongs to which call",
            ["Chevey339/kelivo #1003", "router-for-me/CLIProxyAPI #5640"],
            "A gateway marked an event without content as the end, and the client stopped before the call.",
            "Read the stream to its end, and run the call.",
            [Said(called.plain, [called.streamed[-1], *called.streamed], "calls"), end],
            **_RIGHT,
        ),
        report(
            "gemini-empty",
            "empty end",
            ["anomalyco/opencode #43984", "mistralai/mistral-vibe #130"],
            "The candidate held an empty text. It counted as an answer, and went back as an empty turn.",
            "Call the end no answer, and never send an empty turn.",
            [gemini([{"text": ""}], "STOP", "empty"), end],
            prompt=TIME,
        ),
        report(
            "gemini-thought-signature",
            "a field that must come back",
            ["MayDay-wpf/snow-cli #104", "vellum-ai/vellum-assistant #28241"],
            "The call went back without its thoughtSignature, and the API answered 400.",
            "Send the signature back on the part on which it came.",
            [gemini([{**weather, **signed}], "STOP", "calls"), end],
            must_return=[{"functionCall": {"name": "get_weather"}, **signed}],
            **_RIGHT,
        ),
        report(
            "gemini-first-call-is-signed",
            "a field that must come back",
            ["jeremychone/rust-genai #302", "prism-php/prism #856"],
            "Of two calls the first one was signed, and the signature was lost on the way.",
            "Send the signature back on the part on which it came.",
            [gemini([{**weather, **signed}, time], "STOP", "calls"), end],
            must_return=[{"functionCall": {"name": "get_weather"}, **signed}],
            **_BOTH,
        ),
        report(
            "gemini-signature-alone",
            "a field that must come back",
            ["google/adk-go #442", "strands-agents/harness-sdk #3306", "can1357/oh-my-pi #2536"],
            "The signature of a text came in a part without text, which was dropped.",
            "Send the signature back.",
            [gemini([text, {"text": "", **signed}, weather], "STOP", "calls"), end],
            must_return=[signed],
            must_say=["I look it up."],
            **_RIGHT,
        ),
        report(
            "gemini-result-for-each-call",
            "a call without a result",
            ["google-gemini/gemini-cli #16906, #5443", "diegosouzapw/OmniRoute #1412"],
            "One of two calls did not run, there were fewer results than calls, and that is a 400.",
            "Give each call a result; that of an unknown tool is an error.",
            [gemini([weather, unknown], "STOP", "calls"), end],
            **_RIGHT,
        ),
        report(
            "gemini-two-calls-without-ids",
            "which delta belongs to which call",
            ["google/adk-go #442", "trycua/cua #610"],
            "Two calls of one tool came without ids, and one of them was lost.",
            "Run both, and give each a result in its place.",
            [gemini([weather, rome], "STOP", "calls"), end],
            prompt="How is the weather in Oslo and in Rome?",
            must_run=[OSLO, {"name": "get_weather", "arguments": {"city": "Rome", "days": 1}}],
        ),
    ]


def of_ollama() -> list[JSON]:
    """Return the rows of Ollama's own chat."""
    end = done("ollama")
    cut = ollama_call("cleanup", {})
    weather = ollama_call("get_weather", {"city": "Oslo"})
    return [
        report(
            "ollama-length",
            "cut call",
            ["pfrankov/obsidian-ai-providers #28", "ralphgrewe/TradingAgents #168"],
            "The done_reason was `length`, with a call that had lost its arguments.",
            _MUST_TELL,
            [ollama("", [cut], "length", "cut"), end],
            **_CUT,
        ),
        report(
            "ollama-no-end",
            "stream without an end",
            ["dotflow-io/pycodeloop #64", "justrach/codegraff #146"],
            "The stream ended without a line that is done, and what had come counted as the answer.",
            _MUST_TELL,
            [ollama("I clean up.", [cut], None, "cut"), end],
            **_CUT,
        ),
        report(
            "ollama-empty",
            "empty end",
            ["ralphgrewe/TradingAgents #168", "mistralai/mistral-vibe #130"],
            "The message had thinking and no text, and counted as an answer.",
            "Call the end no answer.",
            [ollama("", (), "stop", "empty", thinking="I look at the clock."), end],
            prompt=TIME,
        ),
        report(
            "ollama-call-before-the-end",
            "which delta belongs to which call",
            ["openclaw/Tachikoma #34", "kooshi/llama-swappo #13"],
            "The call came in a line that is not done, and clients that read the last line lost it.",
            "Run the call.",
            [ollama("", [weather], "stop", "calls"), end],
            **_RIGHT,
        ),
        report(
            "ollama-arguments-go-back-as-an-object",
            "broken arguments go back",
            ["openclaw/openclaw #47182, #50749", "Xoshbin/asyar #513", "antoinezambelli/forge #111"],
            "The arguments went back as a text, as Chat Completions has it, and Ollama answered 400.",
            "Send the arguments back as an object.",
            [ollama("I look it up.", [weather], "stop", "calls"), end],
            must_say=["I look it up."],
            **_RIGHT,
        ),
        report(
            "ollama-arguments-came-as-text",
            "broken arguments go back",
            ["openclaw/openclaw #57455, #50728"],
            "A model gave the arguments as JSON text. They went back so, and Ollama answered 400.",
            "Run the call, and send the arguments back as an object.",
            [ollama("", [ollama_call("get_weather", _OSLO)], "stop", "calls"), end],
            **_RIGHT,
        ),
    ]


def rows() -> list[JSON]:
    """Return all rows about the four."""
    return [*of_responses(), *of_anthropic(), *of_gemini(), *of_ollama()]
