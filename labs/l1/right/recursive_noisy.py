"""An object that calls itself for each turn, and says on every channel what it does."""

import json
import logging
import sys
import traceback
import warnings

log = logging.getLogger("loop")
logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
warnings.warn("a warning of the student's", stacklevel=1)
print("loading" * 100)


class Loop:
    def __call__(self, conversation, toolbox, ask, requests_left=8):
        warnings.warn("asking again", DeprecationWarning, stacklevel=2)
        print("turns left:", requests_left)
        reply = ask(conversation, [*(tool["schema"] for tool in toolbox.values())])
        log.debug("reply %s", reply)
        calls = reply.get("tool_calls") or ()
        conversation = [*conversation, reply, *(self.answered(call, toolbox) for call in calls)]
        if calls and requests_left > 1:
            return self(conversation, toolbox, ask, requests_left - 1)
        return tuple(conversation)

    def answered(self, call, toolbox):
        try:
            arguments = json.loads(call["function"]["arguments"])
            tool = toolbox[call["function"]["name"]]
            content = self.confirmed(tool, arguments)["run"](**arguments)
        except Exception:
            print(traceback.format_exc(), file=sys.stderr)
            content = "this call ended with an ERROR: " + traceback.format_exc(limit=0)
        if not isinstance(content, str):
            content = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return dict(role="tool", tool_call_id=call["id"], content=content)

    def confirmed(self, tool, arguments):
        if tool.get("confirm", lambda **_: True)(**arguments) is True:
            return tool
        raise PermissionError("a person said no")


run_loop = Loop()
