"""The statements of every turn, built once: building one costs several times what running it does.

Their parameters begin with `the_`, since those of an update must not be named like columns.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from joey.fleet.database import BATCHES, PACES, TASKS, TURNS

_TASK, _BATCH = sa.bindparam("the_task", type_=sa.Text), sa.bindparam("the_batch", type_=sa.Text)
_TURNS, _COST = sa.bindparam("the_turns", type_=sa.Integer), sa.bindparam("the_cost", type_=sa.Float)
_KEY: dict[str, sa.BindParameter[Any]] = {"workflow": sa.bindparam("the_workflow"), "step": sa.bindparam("the_step")}
_THIS_TURN = (TURNS.c.workflow == _KEY["workflow"]) & (TURNS.c.step == _KEY["step"])
_MINE = (TASKS.c.worker == sa.bindparam("the_worker")) & (TASKS.c.leg == sa.bindparam("the_leg"))


def _insert(row: sqlite.Insert | postgresql.Insert) -> sa.Executable:
    return row.values(**_KEY, turns=_TURNS, cost=_COST).on_conflict_do_nothing().returning(TURNS.c.workflow)


ADD_TURN = {"sqlite": _insert(sqlite.insert(TURNS)), "postgresql": _insert(postgresql.insert(TURNS))}
"""By the name of the dialect; returns a row if the turn was not there."""
READ_TURN = sa.select(TURNS.c.turns, TURNS.c.cost).where(_THIS_TURN)
CHANGE_TURN = sa.update(TURNS).where(_THIS_TURN).values(turns=_TURNS, cost=_COST)
COUNT_TURN = (
    sa.update(TASKS)
    .where(TASKS.c.id == _TASK, _MINE)
    .values(
        turns=TASKS.c.turns + _TURNS,
        cost=TASKS.c.cost + _COST,
        head=sa.func.coalesce(sa.bindparam("the_head", type_=sa.Text), TASKS.c.head),
        changed=sa.bindparam("the_time"),
    )
)
"""Adds to what a task took, if it still is this worker's."""
SPEND = sa.update(BATCHES).where(BATCHES.c.name == _BATCH).values(spent=BATCHES.c.spent + _COST)
_HELD = sa.select(PACES.c.not_before).where(PACES.c.place == sa.bindparam("the_place")).scalar_subquery()
LIMITS = (
    sa.select(TASKS.c.cancel, BATCHES.c.max_cost, BATCHES.c.spent, _HELD.label("not_before"))
    .join(BATCHES, BATCHES.c.name == TASKS.c.batch)
    .where(TASKS.c.id == _TASK)
)
"""What may hold back the next turn of a task."""
