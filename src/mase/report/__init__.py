"""The report of a whole run: a folder with one page and a searchable list of the texts, for a browser without a server.

`mase.report.folder:write_report` writes it.
"""

__all__: list[str] = []
