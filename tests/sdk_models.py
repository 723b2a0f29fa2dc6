"""Walks the models of the SDKs: the kinds of a union, and an example with every field."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType, UnionType
from typing import Annotated, Any, Literal, Required, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

Path = tuple[Any, ...]


def arms(annotation: Any) -> list[Any]:
    """The types that a value of `annotation` may have, None left out."""
    origin = get_origin(annotation)
    if origin is Annotated or origin is Required:
        return arms(get_args(annotation)[0])
    if isinstance(annotation, UnionType) or origin is Union:
        return [arm for one in get_args(annotation) for arm in arms(one)]
    return [] if annotation is type(None) else [annotation]


def whole(annotation: Any, arm: int = 0) -> tuple[Any, list[tuple[Path, bool]]]:
    """An example with every field, and the way to each part of it with whether the part may be left out."""
    kinds = arms(annotation)
    kind = kinds[min(arm, len(kinds) - 1)] if kinds else None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        value: dict[str, Any] = {}
        parts: list[tuple[Path, bool]] = []
        for name, field in kind.model_fields.items():
            key = field.alias or name
            value[key], below = whole(field.annotation, arm)
            parts += [((key,), not field.is_required()), *(((key, *path), free) for path, free in below)]
        return value, parts
    origin, of = get_origin(kind), get_args(kind)
    if origin is list:
        value, below = whole(of[0], arm)
        return [value], [((0,), True), *(((0, *path), free) for path, free in below)]
    if origin is dict:
        value, below = whole(of[1], arm) if arms(of[1]) else (None, [])
        return {"key": value}, [(("key",), True), *((("key", *path), free) for path, free in below)]
    if origin is Literal:
        return of[0], []
    return {str: "text", int: 1, float: 0.5, bool: True}.get(kind, {}) if isinstance(kind, type) else {}, []


def kinds(union: Any, tag: str = "type") -> dict[str, Any]:
    """The members of a union by the constant that tells them apart; a union of constants is its own."""
    named: dict[str, Any] = {}
    for arm in arms(union):
        model = isinstance(arm, type) and issubclass(arm, BaseModel)
        fields = {name: field.annotation for name, field in arm.model_fields.items()} if model else get_type_hints(arm)
        for constant in get_args(arms(fields[tag])[0]) if tag in fields else ():
            named.setdefault(constant, arm)
    return named


def constants(*modules: ModuleType) -> set[str]:
    """The texts that stand in the code of modules."""
    trees = [ast.parse(inspect.getsource(module)) for module in modules]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
