"""Broken arguments in, a proposal out; or None, because a repair must not change what was meant.

Both repairs end at one guard, `keeps_intent`: the broken text must be a sloppy way to write the
proposal. Quotes, commas, comments and closing brackets may differ; words, numbers, their order and
their nesting may not, and no text is completed. A proposal is validated again in full by the loop.
"""

from __future__ import annotations

from zoolab.repair.by_model import LLMRepair
from zoolab.repair.by_rules import RuleRepair
from zoolab.repair.intent import keeps_intent
from zoolab.repair.report import RepairReport
from zoolab.repair.wrapping import MAX_CHARS

__all__ = ["MAX_CHARS", "LLMRepair", "RepairReport", "RuleRepair", "keeps_intent"]
