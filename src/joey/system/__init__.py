"""The user's machine: its folders, keys, repositories and names, and what the user trusts."""
