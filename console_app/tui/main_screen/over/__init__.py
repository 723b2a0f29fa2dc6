"""Dialogs of the main screen: help, settings, pickers, copying and leaving."""
