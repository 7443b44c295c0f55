"""The conversation as a wire format wants it: repaired, plain where it must be, and each message encoded once."""
