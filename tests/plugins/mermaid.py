#!/usr/bin/env python3
"""A plugin: each protocol as a Mermaid state diagram, the same as `duologue graph --format mermaid` prints."""

import json
import sys


def escaped(text):
    return "".join(
        letter if letter.isalnum() or letter in " _(),.?[]" else f"#{ord(letter)};"
        for letter in text
    )


def title(state):
    parameters = ", ".join(parameter["name"] for parameter in state["parameters"])
    return state["name"] + (f"<{parameters}>" if parameters else "")


def turn(state):
    return f"{state['active']} sends" if state["active"] else "over"


def words(message):
    entries = [
        entry["text"] if entry["is_derived"] else f"{entry['name']}: {entry['text']}"
        for entry in message["entries"]
    ]
    return message["name"] + (f"({', '.join(entries)})" if entries else "")


def diagram(protocol):
    lines = ["stateDiagram-v2"]
    for index, state in enumerate(protocol["states"]):
        label = escaped(f"{title(state)}, {turn(state)}")
        lines.append(f'    state "{label}" as s{index}')
    lines.append("    [*] --> s0")
    for index, state in enumerate(protocol["states"]):
        for message in state["messages"]:
            to = f"s{message['next']['state']}" if message["next"] else "[*]"
            lines.append(f"    s{index} --> {to} : {escaped(words(message))}")
        if state["direction"] is None:
            lines.append(f"    s{index} --> [*]")
    return "\n".join(lines) + "\n"


question = json.load(sys.stdin)
files = [
    {"path": f"{protocol['full_name']}.mmd", "text": diagram(protocol)}
    for protocol in question["model"]["protocols"]
]
json.dump({"files": files}, sys.stdout)
