"""What each kind of node does, one module per kind: what is recorded before it acts, and what came of it."""
