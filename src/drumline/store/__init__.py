"""The durable store: one SQLite file that every driver and reader of a repository shares."""
