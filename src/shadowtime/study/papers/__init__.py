"""The reproductions, a folder each: published tables, figures and claims beside our own numbers.

What they share: tables, figures and claims as values (``values``), what is run and how
(``reproduction``), pictures of the figures (``picture``). A paper's folder has a ``PAPER`` in its
``__init__``; the published numbers are files in ``published``.
"""
