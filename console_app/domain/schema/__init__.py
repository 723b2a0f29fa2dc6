"""JSON Schema, read in one place. Forms (`forms`) and words for people (`words`) are modules beside the door."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.domain.schema.reading import Schema as Schema
    from console_app.domain.schema.reading import arguments_problem as arguments_problem
    from console_app.domain.schema.reading import as_schema as as_schema
    from console_app.domain.schema.reading import choices as choices
    from console_app.domain.schema.reading import declares_members as declares_members
    from console_app.domain.schema.reading import faults as faults
    from console_app.domain.schema.reading import followed as followed
    from console_app.domain.schema.reading import is_closed as is_closed
    from console_app.domain.schema.reading import is_of as is_of
    from console_app.domain.schema.reading import item as item
    from console_app.domain.schema.reading import mapped as mapped
    from console_app.domain.schema.reading import object_of as object_of
    from console_app.domain.schema.reading import others as others
    from console_app.domain.schema.reading import own_types as own_types
    from console_app.domain.schema.reading import parts as parts
    from console_app.domain.schema.reading import properties as properties
    from console_app.domain.schema.reading import references as references
    from console_app.domain.schema.reading import rename_members as rename_members
    from console_app.domain.schema.reading import required as required
    from console_app.domain.schema.reading import resolved as resolved
    from console_app.domain.schema.reading import text as text
    from console_app.domain.schema.reading import type_of as type_of
    from console_app.domain.schema.reading import types as types
    from console_app.domain.schema.reading import without_members as without_members
    from console_app.domain.schema.reading import words_in as words_in
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
