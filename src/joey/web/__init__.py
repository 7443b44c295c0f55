"""Joey in the browser: a page for the tasks of this machine, over one JSON API and one stream of events."""
