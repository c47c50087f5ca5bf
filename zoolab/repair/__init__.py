"""Broken arguments in, a proposal out; or None, because a repair must not change what was meant.

Both repairs end at one guard, `keeps_intent`: the broken text must be a sloppy way to write the
proposal. Quotes, commas, comments and closing brackets may differ; words, numbers, their order and
their nesting may not, and no text is completed. A proposal is validated again in full by the loop.
"""

from __future__ import annotations

from zoolab.repair.guard import keeps_intent
from zoolab.repair.reading import MAX_CHARS
from zoolab.repair.repairs import LLMRepair, RepairReport, RuleRepair

__all__ = ["MAX_CHARS", "LLMRepair", "RepairReport", "RuleRepair", "keeps_intent"]
