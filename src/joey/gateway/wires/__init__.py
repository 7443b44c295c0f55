"""The wire formats that clients speak: each is read into our conversation, and our answer is written on it."""
