"""Drives a server with the official client of the Model Context Protocol. The input is how to
start the server and what to call; the output, as JSON, is what the client made of the answers.
The client holds every answer to the output schema of its tool."""

import asyncio
import json
import sys

from jsonschema import Draft202012Validator
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def call(session, tool, arguments):
    try:
        return {"result": plain(await session.call_tool(tool, arguments))}
    except MCPError as error:
        return {"error": {"code": error.error.code, "message": error.error.message}}


async def drive(asked):
    server = StdioServerParameters(
        command=asked["command"], args=asked["arguments"], cwd=asked["folder"], env=asked["env"]
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        started = await session.initialize()
        tools = (await session.list_tools()).tools
        listed = [plain(tool) for tool in tools]
        for tool in listed:
            for schema in ["inputSchema", "outputSchema"]:
                if schema in tool:
                    Draft202012Validator.check_schema(tool[schema])
        answers = [await call(session, one["tool"], one["arguments"]) for one in asked["calls"]]
        if asked["at_once"]:
            calls = [call(session, one["tool"], one["arguments"]) for one in asked["calls"]]
            assert await asyncio.gather(*calls) == answers, "calls at the same time differ"
    return {"server": plain(started), "tools": listed, "answers": answers}


json.dump(asyncio.run(drive(json.load(sys.stdin))), sys.stdout)
