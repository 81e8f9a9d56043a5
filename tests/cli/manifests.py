"""Reads YAML as Kubernetes does (YAML 1.1, no key twice), and holds calls of Auto Scaling to
the model of botocore. Each line of the input is a question as JSON, and of the output its
answer: the documents of a text, or a list of problems."""

import json
import sys

import botocore.session
import yaml
from botocore import xform_name
from botocore.validate import ParamValidator


class Loader(yaml.SafeLoader):
    """Refuses what kubectl refuses."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise ValueError(f"duplicate keys: {twice}")
        if not all(isinstance(key, str) for key in keys):
            raise ValueError(f"keys that are not strings: {keys}")
        return super().construct_mapping(node, deep)


def enums(value, shape, path):
    """Values that are none of those that a shape lists, which botocore leaves to the service."""
    if shape.type_name == "structure":
        for key, one in value.items():
            if key in shape.members:
                yield from enums(one, shape.members[key], f"{path}.{key}")
    elif shape.type_name == "list":
        for one in value:
            yield from enums(one, shape.member, f"{path}[]")
    elif getattr(shape, "enum", None) and value not in shape.enum:
        yield f"{path}: {value} is none of {shape.enum}"


model = botocore.session.get_session().get_service_model("autoscaling")
operations = {xform_name(name, "-"): name for name in model.operation_names}


def problems(operation, given):
    """What is wrong with the input of an operation, by its name on the command line."""
    if operation not in operations:
        return [f"no operation {operation}"]
    shape = model.operation_model(operations[operation]).input_shape
    report = ParamValidator().validate(given, shape)
    found = [report.generate_report()] if report.has_errors() else []
    return found + list(enums(given, shape, operation))


for line in sys.stdin.read().splitlines():
    question = json.loads(line)
    if "yaml" in question:
        answer = list(yaml.load_all(question["yaml"], Loader))
    else:
        answer = problems(question["operation"], question["input"])
    print(json.dumps(answer))
