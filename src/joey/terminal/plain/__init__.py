"""Lines out and lines in: for terminals that can do no more, for pipes and for logs."""
