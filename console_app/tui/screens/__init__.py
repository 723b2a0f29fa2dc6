"""Screens and dialogs. A dialog is a ModalScreen with a result, imported when it is first opened."""
