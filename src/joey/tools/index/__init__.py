"""Finding code by what it means: files cut into pieces, an index of them on disk, and ranking by words and by vectors.

Read in this order: `pieces` (a file as pieces), `words` and `wordpiece` (a text as words, for the two rankings),
`embedding` (a text as a vector), `store` (what is kept), `update` (keeping it fresh),
`ranking` and `search` (asking it), `report` (the answer in words).
"""
