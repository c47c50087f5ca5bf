"""Looks at the answer: with a script, it always comes."""


def faults_of(run):
    call = {"id": "k_8", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    replies = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "Up."},
    ]
    record = run([{"role": "user", "content": "Up?"}], replies, {"ping": {"returns": "pong"}})
    return [] if record["messages"][-1] == replies[-1] else ["there is no answer"]
