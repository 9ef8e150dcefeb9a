"""The folder SHARED of 004 chapter 9, kept up to date from the database while leagues are played (our choice).

It contains what the public may see. The site writes it and never reads it back, so it can be deleted at any time.

keeping     when to write: after a change, at most so often, and with a pause after a failed write
projection  what to write: brings the files up to date with the database
leagues     the files of one league
tree        how to write: files that are replaced, and logs that grow
"""
