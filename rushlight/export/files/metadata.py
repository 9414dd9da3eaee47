"""What is known of nodes beside their values, as files of exported programs spell it, and read back."""

from __future__ import annotations

import json
from typing import Any

from rushlight.fx.node import Node
from rushlight.fx.traceback import NodeSource

_BETWEEN = ";"


def metadata(node: Node) -> dict[str, str]:
    """Where a node came from. TypeError where a program noted at it what JSON cannot hold."""
    meta, found = node.meta, {}
    if meta.get("stack_trace"):
        found["stack_trace"] = meta["stack_trace"]
    if meta.get("nn_module_stack"):
        parts = [f"{key},{path},{kind}" for key, (path, kind) in meta["nn_module_stack"].items()]
        found["nn_module_stack"] = _BETWEEN.join(parts)
    if meta.get("torch_fn"):
        found["torch_fn"] = _BETWEEN.join(meta["torch_fn"])
    if meta.get("custom"):
        found["custom"] = json.dumps(meta["custom"])
    if "from_node" in meta:
        sources = [source.to_dict() for source in meta["from_node"] if isinstance(source, NodeSource)]
        found["from_node"] = json.dumps(sources)
    return found


def metadata_of(fields: dict[str, str]) -> dict[str, Any]:
    """What `metadata` told."""
    found: dict[str, Any] = {}
    if fields.get("stack_trace"):
        found["stack_trace"] = str(fields["stack_trace"])
    if fields.get("nn_module_stack"):
        parts = [_split(part) for part in fields["nn_module_stack"].split(_BETWEEN)]
        found["nn_module_stack"] = {key: (path, kind) for key, path, kind in parts}
    if fields.get("torch_fn"):
        found["torch_fn"] = tuple(fields["torch_fn"].split(_BETWEEN))
    if fields.get("custom"):
        found["custom"] = json.loads(fields["custom"])
    if fields.get("from_node"):
        sources = map(NodeSource._from_dict, json.loads(fields["from_node"]))
        found["from_node"] = [source for source in sources if source is not None]
    return found


def _split(text: str) -> list[str]:
    """Key, path and type; there may be commas within brackets of the first two."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    if len(parts) != 3:
        raise ValueError(f"{text!r} is no key, path and type")
    return parts
