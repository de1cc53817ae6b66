"""The errors that this library raises itself. Errors of a model client are never wrapped: they reach the caller as they are."""


class SalienceError(Exception):
    """Base class of every error raised by `salience`. Its message says what was given, what is allowed and what to do next."""


class OptionError(SalienceError, ValueError):
    """A value given to a constructor is of the wrong type or out of range."""


class PolicyError(SalienceError, ValueError):
    """A policy is not valid, or its file cannot be read."""


class SeamError(SalienceError, TypeError):
    """The model client lacks a method that the policy needs."""
