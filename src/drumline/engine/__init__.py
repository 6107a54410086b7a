"""The shell around the core: read, decide, record the intent, act, record the outcome."""
