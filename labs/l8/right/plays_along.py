"""Walks along the messages that came back, step by step, as a machine with states; a class."""

import json
import random


class Tester:
    tools = {
        "weigh": {"returns": {"kilos": 12, "ill": False}},
        "name": {"returns": "Rex"},
        "open": {"raises": "it is locked"},
    }

    def __call__(self, run):
        self.found = set()
        for scenario in (self.plain(), self.crooked(), self.stubborn()):
            self.judge(run, *scenario)
        return sorted(self.found)

    def call(self, name, arguments="{}", id=None):
        id = id or f"id-{random.randrange(10**9)}"
        return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}

    def plain(self):
        calls = [
            self.call("weigh", '{"pet": 1}', "same"),
            self.call("weigh", '{"pet": 2}'),
            self.call("name"),
        ]
        more = {
            "role": "assistant",
            "content": "Hm.",
            "tool_calls": [self.call("name", '{"pet": 3}', "same")],
        }
        replies = [{"role": "assistant", "content": "", "tool_calls": calls}, more]
        return [*replies, {"role": "assistant", "content": "Done.", "tool_calls": []}], 6

    def crooked(self):
        calls = [
            self.call("open"),
            self.call("weigh", "nothing"),
            self.call("feed"),
            self.call("weigh", "[]"),
        ]
        first = {"role": "assistant", "content": None, "tool_calls": calls}
        return [
            first,
            {**first, "tool_calls": [self.call("name")]},
            {"role": "assistant", "content": "Done."},
        ], 6

    def stubborn(self):
        return [
            {"role": "assistant", "content": None, "tool_calls": [self.call("weigh")]} for _ in range(5)
        ], 2

    def judge(self, run, replies, limit):
        given = [{"role": "system", "content": "Vet."}, {"role": "user", "content": "Well?"}]
        record = run(messages=given, replies=replies, tools=self.tools, limit=limit)
        if record["ended"] != "returned":
            self.found.add("it raised")
        self.must(record["given"] == given, "it changed what was given")
        self.must(len(record["requests"]) == min(limit, len(replies)), "the number of requests")
        left, before, due = list(record["messages"]), [], []
        for message in given:
            before.append(message)
            self.must(left[:1] == [message], "the beginning")
            left = left[1:]
        for number, request in enumerate(record["requests"][: len(replies)]):
            self.must(request["messages"] == before, "a request")
            self.must(set(request["tools"]) == set(self.tools), "the tools of a request")
            reply, late = replies[number], number == limit - 1
            self.must(left[:1] == [reply], "a reply")
            calls = reply.get("tool_calls") or []
            for call, result in zip(calls, left[1:], strict=False):
                self.must(
                    result["role"] == "tool" and result.get("tool_call_id") == call["id"], "whose result"
                )
                if not late:
                    due += self.outcome(call["function"], str(result.get("content")))
            self.must(len(left) > len(calls), "a result is missing")
            before, left = [*before, *left[: 1 + len(calls)]], left[1 + len(calls) :]
        self.must(not left, "more was said than that")
        if len(replies) < limit:
            self.must(
                sorted(due) == sorted(f"{n} {json.dumps(a)}" for n, a in record["executed"]), "what ran"
            )

    def outcome(self, function, content):
        """Checks a result; says what ran for it."""
        name, text = function["name"], function["arguments"]
        failed = "error" in content.lower()
        if name not in self.tools:
            self.must(failed and name in content, "an unknown tool")
            return []
        if not text.startswith("{"):
            self.must(failed, "broken arguments")
            return []
        does = self.tools[name]
        if "raises" in does:
            self.must(failed and does["raises"] in content, "a failed result")
        else:
            told = content if isinstance(does["returns"], str) else self.value(content)
            self.must(told == does["returns"], "a result")
        return [f"{name} {text}"]

    def value(self, content):
        try:
            return json.loads(content)
        except ValueError:
            return content

    def must(self, so, what):
        if not so:
            self.found.add(what)


faults_of = Tester()
