"""What the engine needs from the world, as promises: one Protocol per kind of thing, a few methods each."""
