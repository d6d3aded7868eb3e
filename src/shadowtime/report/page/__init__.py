"""The self-contained HTML page, section by section."""
