"""The composition root: everything below this floor is told what it needs; here it is looked up.

settings   what the user, the project, the environment and the command line say
tools      the modes and tools of a workspace
calls      one call, run with leave
tasks      a whole task
"""
