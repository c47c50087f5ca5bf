"""Repair of broken arguments: a proposal, or None if a repair could change the meaning.

Both repairs end at a guard. The strict one is `keeps_intent`: the broken text must be a sloppy way to write
the proposal. Quotes, commas, comments and closing brackets may differ; words, numbers, their order and
their nesting may not, and no text is completed. A proposal is validated again in full by the loop.

unwrapping.py what stands around the value: fences, labels, quotes and talk
reading.py    the one value that a badly written text can stand for
guards.py     what a repair may change, and whether a proposal keeps to it
repairers.py  the repair by rules and the repair by a model
"""

from __future__ import annotations

from zoolab.repair.guards import keeps_intent
from zoolab.repair.repairers import LLMRepair, RepairReport, RuleRepair
from zoolab.repair.unwrapping import MAX_CHARS

__all__ = ["MAX_CHARS", "LLMRepair", "RepairReport", "RuleRepair", "keeps_intent"]
