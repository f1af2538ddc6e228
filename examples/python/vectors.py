"""Holds the client against ../vectors.json. REDIS_URL names a Redis of its own; what the vectors touch there is replaced."""

import base64
import json
import os
import pathlib
import platform
import sys

import redis

from pacekeeper import check, keys_of


def main() -> int:
    vectors = json.loads((pathlib.Path(__file__).parents[1] / "vectors.json").read_text())
    client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    client.script_flush()  # the first call meets NOSCRIPT
    for call in vectors["calls"]:
        client.delete(*keys_of(call["action"], call["group"], call["user"])[2:])
        client.delete(keys_of(call["action"], call["group"], "~group")[2])
    for policy in vectors["policies"]:
        for name, value in policy["fields"].items():
            client.hset(policy["key"], name, base64.b64decode(value))
    for exemption in vectors["exemptions"]:
        client.zadd(exemption["key"], {exemption["user"]: exemption["expiry"]})
    failed = 0
    for call in vectors["calls"]:
        got = check(client, call["action"], call["group"], call["user"], call["roles"], call["cost"], call["now_ms"])
        key = keys_of(call["action"], call["group"], call["user"])[0]
        if not key.startswith(f"pk:{call['tag']}:") or got != call["want"]:
            failed += 1
            print("call", call, "got", key, got, file=sys.stderr)
    passed = len(vectors["calls"]) - failed
    print(f"python {platform.python_version()}, redis-py {redis.__version__}: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
