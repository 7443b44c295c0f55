"""Editing text files: where an edit belongs, what becomes of the file, and writing it down safely.

- document.py: a text as lines and the ends between them; which lines of two texts belong together
- matching.py: where lines occur in a file, from exactly to nearly
- reindent.py: a replacement in the indentation of the place it goes to
- blocks.py, block_edit.py: the SEARCH/REPLACE grammar, and such blocks applied to a document
- patch.py, patch_edit.py: the Begin/End Patch grammar, and its chunks applied to a document
- text_edit.py: one string for another, and several of these as an edit
- outcomes.py: what became of each part of an edit, in words
- changes.py: files from old bytes to new bytes, all or none
- planning.py: from an edit that was worked out to a tool's Plan; what the tools have in common
"""
