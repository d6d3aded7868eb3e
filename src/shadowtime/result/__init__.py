"""The results of a run: result folders, their JSON object, pages and figures."""
