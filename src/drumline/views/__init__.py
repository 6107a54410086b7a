"""Read models: what every face shows, computed from the plan and the fold."""
