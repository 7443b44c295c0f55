"""Front ends for a terminal. They watch events and answer requests; they never drive."""
