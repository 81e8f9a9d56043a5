"""Reads commands of the AWS CLI, one a line as a list in JSON, and holds their services,
operations, flags and JSON values to the models of botocore. Prints one line a problem."""

import json
import re
import sys

import botocore.session
import jmespath
from botocore import xform_name
from botocore.validate import ParamValidator

# Flags of the CLI itself, with the number of their values.
OWN = {"--region": 1, "--query": 1, "--output": 1, "--max-items": 1}
VALIDATOR = ParamValidator()
session = botocore.session.get_session()
models = {}


def plain(name):
    return name.replace("-", "").lower()


def model(service):
    if service not in models:
        models[service] = session.get_service_model(service)
    return models[service]


def operation(service, words):
    if words[0] == "wait":
        waiters = session.get_component("data_loader").load_service_model(service, "waiters-2")
        for name, waiter in waiters["waiters"].items():
            if xform_name(name, "-") == words[1]:
                return model(service).operation_model(waiter["operation"]), words[2:]
        return None, words[2:]
    for name in model(service).operation_names:
        if xform_name(name, "-") == words[0]:
            return model(service).operation_model(name), words[1:]
    return None, words[1:]


def value(shape, values):
    """What the CLI makes of the words behind a flag, where that is plain to see."""
    if len(values) == 1 and values[0][:1] in ("{", "["):
        if shape.type_name == "string":
            json.loads(values[0])
            return values[0]
        return json.loads(values[0])
    if shape.type_name == "list" and shape.member.type_name == "string":
        return values
    if shape.type_name == "list" and shape.member.type_name in ("integer", "long"):
        return [int(word) for word in values]
    if shape.type_name == "list" and shape.member.type_name == "structure":
        # Name=a,Values=b,c
        items = []
        for word in values:
            parts = re.split(r",(?=[A-Za-z]+=)", word)
            pairs = [part.split("=", 1) for part in parts]
            items.append(dict((k, v.split(",") if k.lower() == "values" else v) for k, v in pairs))
        return items
    if shape.type_name == "boolean":
        return True
    if shape.type_name in ("integer", "long"):
        return int(values[0])
    if shape.type_name == "structure":
        return None
    if shape.type_name == "timestamp":
        return values[0]
    return values[0]


def problems(words):
    service, rest = words[1], words[2:]
    found, rest = operation(service, rest)
    if found is None:
        yield "no such operation"
        return
    members = found.input_shape.members if found.input_shape else {}
    given = {}
    while rest:
        flag, rest = rest[0], rest[1:]
        if not flag.startswith("--"):
            yield f"stray word {flag}"
            continue
        values = []
        while rest and not rest[0].startswith("--"):
            values.append(rest[0])
            rest = rest[1:]
        if flag in OWN:
            if len(values) != OWN[flag]:
                yield f"{flag} has {len(values)} values"
            if flag == "--query":
                jmespath.compile(values[0])
            continue
        name = plain(flag[2:])
        negated = name[2:] if name.startswith("no") and plain(name[2:]) in map(plain, members) else None
        match = [key for key in members if plain(key) == (negated or name)]
        if service == "ec2" and flag == "--instance-id" and not match:
            match = [key for key in members if plain(key) == "instanceid"]
        if not match:
            yield f"no such flag: {flag}"
            continue
        shape = members[match[0]]
        if shape.type_name == "boolean" and values:
            yield f"{flag} takes no value"
        if shape.type_name != "boolean" and not values:
            yield f"{flag} has no value"
            continue
        made = value(shape, values)
        if made is None:
            continue
        given[match[0]] = made
        report = VALIDATOR.validate(made, shape)
        if report.has_errors() and "<" not in " ".join(values):
            yield f"{flag}: {report.generate_report()}"
    structures = [key for key, shape in members.items() if shape.type_name == "structure"]
    missing = set(found.input_shape.required_members if found.input_shape else [])
    missing -= set(given) | set(structures)
    # The CLI fills these in.
    missing -= {"ClientToken", "clientToken", "MinCount", "MaxCount"}
    if missing:
        yield f"missing: {', '.join(sorted(missing))}"


for line in sys.stdin:
    words = json.loads(line)
    if words[:1] != ["aws"]:
        continue
    try:
        for problem in problems(words):
            print(f"{problem}: {' '.join(words)}")
    except Exception as error:  # pylint: disable=broad-except
        print(f"{type(error).__name__}: {error}: {' '.join(words)}")
