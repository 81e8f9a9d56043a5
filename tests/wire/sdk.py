"""Calls AWS with boto3 at the endpoint of the first argument. Reads a list of calls as JSON,
makes them at once, and prints the list of their outcomes: an answer, its pages, or the code of
an error."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

# The default of the SDK for Rust, which the same numbers of attempts are expected of.
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 3})


def pages(method, params):
    """Pages by their tokens: not every service has a paginator."""
    while True:
        page = method(**params)
        del page["ResponseMetadata"]
        yield page
        token = next((name for name in ("NextToken", "nextToken") if page.get(name)), None)
        if token is None:
            return
        params = {**params, token: page[token]}


def outcome(call):
    found = pages(getattr(client(call), call["operation"]), call["params"])
    try:
        return {"pages": list(found)} if call["pages"] else {"answer": next(found)}
    except ClientError as error:
        return {"code": error.response["Error"]["Code"]}


clients = {}


def client(call):
    scope = call["service"], call["region"], call["key"]
    if scope not in clients:
        clients[scope] = boto3.client(
            call["service"],
            region_name=call["region"],
            aws_access_key_id=call["key"],
            aws_secret_access_key="test",
            endpoint_url=sys.argv[1],
            config=CONFIG,
        )
    return clients[scope]


calls = json.load(sys.stdin)
# Clients can be shared by threads, and not made by several.
for each in calls:
    client(each)
with ThreadPoolExecutor(32) as pool:
    outcomes = list(pool.map(outcome, calls))
print(json.dumps(outcomes, default=lambda time: time.isoformat()))
