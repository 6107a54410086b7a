"""Skills in folders: those of the repository, of the user, and the ones Drumline ships."""

from drumline.skills.folders import FolderSkills, search_path

__all__ = ["FolderSkills", "search_path"]
