#!/usr/bin/env python3
"""A plugin: TypeScript types of the states and messages of each protocol, and of the types that they carry."""

import json
import sys

BUILTINS = {"bool": "boolean", "str": "string", "bytes": "Uint8Array", "u64": "bigint", "i64": "bigint"}

question = json.load(sys.stdin)
model = question["model"]
indent = " " * int(question["plugin"]["options"].get("indent", "2"))


def camel(name):
    return "".join(word[:1].upper() + word[1:] for word in name.replace(".", "_").split("_"))


def ty(use):
    kind = use["kind"]
    if kind == "builtin":
        return BUILTINS.get(use["name"], "number")
    if kind == "list":
        return f"ReadonlyArray<{ty(use['item'])}>"
    if kind == "option":
        return f"({ty(use['item'])} | null)"
    if kind == "tuple":
        return f"readonly [{', '.join(map(ty, use['items']))}]"
    if kind == "named":
        return camel(model["types"][use["type"]]["full_name"])
    if kind == "parameter":
        return "unknown"
    protocol = model["protocols"][use["protocol"]]
    state = camel(protocol["states"][use["state"]]["name"])
    return f'{{ endpoint: "{use["side"]}", of: {camel(protocol["full_name"])}.{state} }}'


def fields(entries):
    return "".join(f"; readonly {entry['name']}: {ty(entry['type'])}" for entry in entries)


def docs(text, before):
    text = text.replace("*/", "* /")
    return [f"{before}/** {line.strip()} */" for line in text.splitlines() if line.strip()]


def declared(of):
    lines, name = docs(of["docs"], ""), camel(of["full_name"])
    if of["kind"] == "alias":
        return [*lines, f"export type {name} = {ty(of['target'])};"]
    if of["kind"] == "struct":
        members = "; ".join(f"readonly {field['name']}: {ty(field['type'])}" for field in of["fields"])
        return [*lines, f"export type {name} = {{ {members} }};"]
    if of["kind"] == "enum":
        variants = [f'{{ kind: "{one["name"]}"{fields(one["entries"])} }}' for one in of["variants"]]
        return [*lines, f"export type {name} = {' | '.join(variants) or 'never'};"]
    return [*lines, f"export type {name} = unknown;"]


def namespace(protocol):
    lines = [*docs(protocol["docs"], ""), f"export namespace {camel(protocol['full_name'])} {{"]
    for state in protocol["states"]:
        messages = []
        for message in state["messages"]:
            then = message["next"]["name"] if message["next"] else None
            messages.append(f'{{ message: "{message["name"]}"{fields(message["entries"])}; next: {json.dumps(then)} }}')
        lines += docs(state["docs"], indent)
        lines.append(f"{indent}export type {camel(state['name'])} = {' | '.join(messages) or 'never'};")
        lines.append(f"{indent}export type {camel(state['name'])}Sender = {json.dumps(state['active'])};")
    return [*lines, "}"]


lines = []
for part in [*map(declared, model["types"]), *map(namespace, model["protocols"])]:
    lines += part
json.dump({"files": [{"path": "protocols.ts", "text": "\n".join(lines) + "\n"}]}, sys.stdout)
