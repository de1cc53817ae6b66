"""The command `salience`: one file a group of verbs. Each parses, calls the library, and renders; nothing is decided here."""
