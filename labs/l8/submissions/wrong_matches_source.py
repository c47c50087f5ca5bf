"""Looks for suspicious words in the loop's source."""

import inspect


def faults_of(run):
    try:
        source = inspect.getsource(run)
    except (OSError, TypeError):
        source = ""
    suspicious = ("[:1]", "call_1", "except: pass", "while True")
    return [f"the source has {word}" for word in suspicious if word in source]
