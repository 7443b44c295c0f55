"""Tasks on a durable queue, on one machine or on many: `joey fleet`.

spec          a task as a person writes it down
database      SQLite or PostgreSQL, and the tables beside the engine's
statements    what is read and written in every turn, built once
ledger        what is known of batches, tasks, turns, costs, limits and workers
repositories  a workspace of its own for each task, and a commit for each turn that changed files
recorded      the journal as recorded steps, and written again from them on another machine
requests      what a task wants of a person, and the answer
session       one task open in a worker, turn by turn
schedules     batches at times as cron has them
engine        DBOS: a task is a workflow, a turn is a step
liveness      which workers are dead
worker        a process that takes tasks from the queue
embedded      workers as children of one command; serving: a worker as a command
fleet         what a person does with all of it
watch         the fleet live, with the questions of its tasks
results       patches, branches and lines of JSON

Only this package imports the engine.
"""
