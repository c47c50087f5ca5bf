"""A trace as OpenTelemetry spans.

semantics.py   which span and attribute each thing becomes
timeline.py    when each step and call was
spans.py       the spans, made with the SDK, and the bounded values of their attributes
"""
