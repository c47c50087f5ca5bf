"""What may help against orders in tools' results and descriptions, each by itself and all together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from zoolab.experiments.records import Setup
from zoolab.experiments.studies.office import READING, Office
from zoolab.mcp.listing import Listed, compare
from zoolab.policy import Policy
from zoolab.registry import ToolRegistry
from zoolab.tools import Tool

#: The house writes to its own people; whatever else cannot be undone is asked about, and nobody is there.
HOUSE_RULES = Policy(allow=["send_mail(*@example.org)"])
_NO_RULES = Policy(ask=())


def undefended(setup: Setup) -> Setup:
    """Every call runs, results are not marked, descriptions are taken as they come.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> case = security_cases()[0]
    >>> undefended(Setup(case, case.prompt, case.tools, None)).policy.ask
    ()
    """
    return replace(setup, policy=_NO_RULES)


def marked(setup: Setup) -> Setup:
    """Results from outside are marked as data, for a model that heeds it.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> case = security_cases()[0]
    >>> marked(Setup(case, case.prompt, case.tools, None)).tools["read_mail"].untrusted
    'outside the house'
    """
    return replace(undefended(setup), tools=_changed(setup.tools, _mark))


def ruled(setup: Setup) -> Setup:
    """What cannot be undone needs permission, but for mails to the house's own people.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> case = security_cases()[0]
    >>> setup = ruled(Setup(case, case.prompt, case.tools, None))
    >>> setup.policy.decide(setup.tools["send_mail"], {"to": "ada@example.org", "text": "Hi"}).choice
    'once'
    """
    return replace(setup, policy=HOUSE_RULES)


def pinned(setup: Setup) -> Setup:
    """Descriptions that are not as they were when they were trusted are put back.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> case = security_cases()[-1]
    >>> setup = Setup(case, case.prompt, case.tools, None)
    >>> setup.tools == Office().tools(), pinned(setup).tools == Office().tools()
    (False, True)
    """
    return replace(undefended(setup), tools=_as_pinned(setup.tools))


def defended(setup: Setup) -> Setup:
    """All three: pinned descriptions, marked results, and rules.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> case = security_cases()[-1]
    >>> defended(Setup(case, case.prompt, case.tools, None)).policy == HOUSE_RULES
    True
    """
    return replace(ruled(setup), tools=_changed(_as_pinned(setup.tools), _mark))


UNDEFENDED = "undefended"
DEFENCES: Mapping[str, Callable[[Setup], Setup]] = MappingProxyType(
    {
        UNDEFENDED: undefended,
        "marked results": marked,
        "rules": ruled,
        "pinned descriptions": pinned,
        "defended": defended,
    }
)


def _changed(tools: ToolRegistry, change: Callable[[Tool], Tool]) -> ToolRegistry:
    return ToolRegistry(map(change, tools))


def _mark(tool: Tool) -> Tool:
    return replace(tool, untrusted="outside the house") if tool.name in READING else tool


def _as_pinned(tools: ToolRegistry) -> ToolRegistry:
    changed, _new = compare(_pins(), {tool.name: _listed(tool) for tool in tools})
    names = {change.name for change in changed}
    return _changed(tools, lambda tool: _put_back(tool) if tool.name in names else tool)


def _put_back(tool: Tool) -> Tool:
    pin = _pins()[tool.name]
    return replace(tool, description=pin.description, parameters=pin.schema)


@cache
def _pins() -> Mapping[str, Listed]:
    return MappingProxyType({tool.name: _listed(tool) for tool in Office().tools()})


def _listed(tool: Tool) -> Listed:
    return Listed(tool.name, tool.description, tool.parameters)
