"""The composition root: the layers below are given what they need; here it is looked up.

settings      the settings of the user, the project, the environment and the command line
tools         the modes and tools of a workspace
calls         one call, run with approval
tasks         a whole task
running       a task run to its end, with Ctrl-C and a time limit
checkpoints   back to how files and conversation were
services      all of it, as front ends need it
embedded      a task as part of another program
"""
