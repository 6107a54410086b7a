"""What keeps an agent's work apart from the rest of the machine: paths, homes, scratch folders, logs."""
