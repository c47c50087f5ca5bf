"""A trace as OpenTelemetry spans.

semantics.py   which span and attribute each thing becomes
attributes.py  values that attributes can hold, bounded
timeline.py    when each step and call was
spans.py       the spans, made with the SDK
"""
