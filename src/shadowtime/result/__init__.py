"""What a run leaves behind: result folders, their JSON object, pages and figures."""
