"""From bytes on the wire to chunks: server-sent events, and a reader for each wire format. No I/O, and no SDK."""
