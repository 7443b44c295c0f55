"""Editing text files: where an edit belongs, what becomes of the file, and writing it down safely.

document.py   a text as lines and the ends between them
matching.py   where lines occur in a file, from exactly to nearly
reindent.py   a replacement in the indentation of the place it goes to
blocks.py     the SEARCH/REPLACE grammar          block_edit.py   such blocks applied to a document
patch.py      the Begin/End Patch grammar         patch_edit.py   its chunks applied to a document
text_edit.py  one string for another
verdict.py    what became of each part of an edit, in words
changes.py    files from old bytes to new bytes, all or none
planning.py   from changed documents to a tool's Plan
"""
