"""The pure core: it folds events into state and answers what comes next. No clock, no IO, no randomness."""
