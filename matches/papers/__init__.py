"""A league as files: one document with everything, tables, the layout of 004 chapter 9; and the import of a document.

bundle      writes the whole league as one JSON document
sections    describes that document, list by list; ``shape`` describes the fields of the items
tables      writes CSV files for spreadsheets
layout      writes the folders of 004 chapter 9, with document and tables, as a ZIP
evidence    collects what one student is graded by
importing   creates a league from a document; ``files`` unpacks, ``reading`` validates, ``checking`` tries out
"""
