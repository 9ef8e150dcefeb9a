"""The documented deployment on machines that are network namespaces, and faults of whole machines and links."""
