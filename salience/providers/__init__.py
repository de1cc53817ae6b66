"""Clients of model services, each in a module of its own. The rest of `salience` imports none of them."""
