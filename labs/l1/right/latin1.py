# -*- coding: latin-1 -*-
"""Lösung von Jörg."""
import json

FEHLER = "Error (Ausführung): {}"


def antwort(call, tools):
    f = call["function"]
    try:
        if f["name"] not in tools:
            raise LookupError(f["name"])
        args = json.loads(f["arguments"])
        if type(args) is not dict:
            raise TypeError("kein Objekt")
        werkzeug = tools[f["name"]]
        if "confirm" in werkzeug and werkzeug["confirm"](**args) is not True:
            raise PermissionError("abgelehnt")
        wert = werkzeug["run"](**args)
        return wert if isinstance(wert, str) else json.dumps(wert)
    except Exception as e:
        return FEHLER.format(e)


def run_loop(messages, tools, model, limit=8):
    alle = messages[:]
    schemas = [w["schema"] for w in tools.values()]
    while limit:
        limit -= 1
        alle += [r := model(alle, schemas)]
        if not (calls := r.get("tool_calls")):
            break
        alle += [{"role": "tool", "tool_call_id": c["id"], "content": antwort(c, tools)} for c in calls]
    return alle
