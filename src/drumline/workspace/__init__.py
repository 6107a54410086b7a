"""Workspaces in a real git repository: worktrees for steps, plumbing for commits, compare-and-set for landings."""
