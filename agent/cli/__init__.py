"""The command line: one verb a file, everything heavy imported when a verb runs."""
