"""READS: a league on paper: everything it is made of as one document, as tables, and in the layout of 004 chapter 9.

bundle      the whole league as one JSON document; what ``matches.papers.importing`` reads
shape       what that document looks like; pure
tables      CSV, for spreadsheets
layout      the folders of 004 chapter 9, with document and tables, as a ZIP
evidence    what one student is graded by
snapshot    all of it as it stood at one moment
"""
