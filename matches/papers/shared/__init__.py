"""The folder SHARED of 004 chapter 9, kept up to date from the database while leagues are played (our choice).

What stands in it is what the public sees. It is written, never read back as truth: it can be deleted at any time.

keeping     when to write: wakes with the conductor, not too often, and not when the disk refuses
projection  what to write: brings the files up to date with the database
leagues     the files of one league
logs        the lines of the logs, in their order
tree        how to write: files that are replaced, and logs that grow
"""
