"""The documentation at ``/docs/``: the site that ``make docs`` builds, or else the Markdown files themselves."""
