"""A league's events as a chain of digests, and the table that follows from them (ruling, section 12). No Django.

``canonical`` writes a value in one way only, ``kinds`` says what of an event is public, ``chain`` makes and walks
digests, ``documents`` describes what can be verified, ``packed`` takes it out of a ZIP file and decodes it, ``reading``
takes it from a file or a site, ``standings`` adds up a table, ``recount`` does so again from public parts and checks
draws and seals, ``rows`` compares an export's rows with its events, ``unproven`` lists what nothing proves, ``verify``
puts all of it together.
``luck`` estimates how much of a table is luck.
"""
