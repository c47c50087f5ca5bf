"""A list of tasks that a model keeps for itself, to break a long request into steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, Literal

from zoolab.errors import InvalidArguments, ResourceNotFound
from zoolab.steps.define import as_registry
from zoolab.tools import ToolRegistry

Status = Literal["pending", "in_progress", "completed"]
MAX_TASKS = 1_000


@dataclass
class TaskList:
    """Tasks in the order in which they were added, numbered from 1."""

    tasks: dict[str, dict[str, str]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def add_task(self, content: Annotated[str, "What is to be done, one sentence."]) -> str:
        """Add a task and return its ID. Use this when a request takes several steps."""
        if not content.strip():
            raise InvalidArguments("the content is blank", expected="what is to be done")
        with self._lock:
            if len(self.tasks) >= MAX_TASKS:
                raise InvalidArguments(f"there are {MAX_TASKS:,} tasks already", advice="begin a new list")
            task_id = f"task_{len(self.tasks) + 1}"
            self.tasks[task_id] = {"id": task_id, "status": "pending", "content": content}
        return task_id

    def list_tasks(self) -> list[dict[str, str]]:
        """List every task with its ID, status and content. Use this to check what is left to do."""
        with self._lock:
            return [dict(task) for task in self.tasks.values()]

    def update_task(
        self,
        task_id: Annotated[str, "ID that add_task returned, for example task_1."],
        status: Annotated[Status, "The new status."],
    ) -> str:
        """Change the status of one task. Use this when work on it begins or is done."""
        with self._lock:
            if task_id not in self.tasks:
                known = ", ".join(self.tasks) or "no task yet"
                raise ResourceNotFound(f"no task {task_id!r}", expected=known, advice="add it with add_task")
            self.tasks[task_id]["status"] = status
        return f"{task_id} is {status}"


def task_tools(world: TaskList | None = None) -> ToolRegistry:
    """Return the tools of a list of tasks, or of a new and empty one."""
    world = TaskList() if world is None else world
    return as_registry([world.add_task, world.list_tasks, world.update_task])
