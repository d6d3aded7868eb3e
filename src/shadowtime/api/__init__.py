"""The Python interface behind ``import shadowtime as st``; the command line is a layer over it."""
