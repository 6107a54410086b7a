"""Child processes and the drivers that own them. Imports nothing: every supervisor pays for what stands here."""
