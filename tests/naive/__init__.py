"""The slow, obvious references that every compiled pass is compared with.

A file per kind of machine or scheduler, written from the specification and sharing nothing with
the engine. The tests beside them check the references themselves, by hand and by identities.
"""
