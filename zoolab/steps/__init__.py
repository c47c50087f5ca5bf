"""The six steps of a tool call, one file each, in the order in which they happen.

define.py     a Python function becomes a tool that a model can read about
request.py    messages[] and tools become what is sent
tool_call.py  the reply is read: which tools does the model ask for?
validate.py   may each call run, with these arguments?
execute.py    the calls run, and whatever happens becomes an outcome
result.py     each outcome becomes the tool message that goes back
"""
