"""A league as files: one document with everything, tables, the layout of 004 chapter 9; and the import of a document.

bundle      writes the whole league as one JSON document
sections    describes that document, list by list; ``shape`` describes the fields of the items
tables      writes CSV files for spreadsheets
layout      says what stands in each file of 004 chapter 9
export_zip  writes these files as staff see them, with document and tables, as a ZIP file
shared      keeps these files up to date in a folder, as the public sees them
evidence    collects what one student is graded by
importing   creates a league from a document; ``files`` unpacks, ``reading`` validates, ``checking`` tries out
"""
