"""A check from Python: the keys, the call, and what to do when Redis has lost the script."""

import hashlib
import pathlib
import zlib

import redis

SCRIPT = (pathlib.Path(__file__).parents[2] / "enforce" / "check.lua").read_bytes()
SHA = hashlib.sha1(SCRIPT).hexdigest()


def shard_tag(group: str) -> str:
    """The cluster hash tag of all keys of a group: CRC-32 of the id's bytes mod 256."""
    return "{s%02x}" % (zlib.crc32(group.encode()) & 255)


def keys_of(action: str, group: str, user: str, prefix: str = "pk") -> list:
    """KEYS of the script, in its order. ~user, ~peer and ~ip stand in a group's place, their subject in the user's."""
    head = f"{prefix}:{shard_tag(user if group.startswith('~') else group)}"
    return [
        f"{head}:policy:{action}|{group}",
        f"{head}:default:{action}",
        f"{head}:state:{action}|{group}|{user}",
        f"{head}:member:{group}|{user}",
    ]


def check(client: redis.Redis, action: str, group: str, user: str, roles=(), cost: int = 1, now_ms: int = None) -> list:
    """Decides one attempt: [code, wait_ms, remaining, limit, strikes, step, version]. Codes 0 to 4 pass; 3 after wait_ms.

    now_ms is for tests.
    """
    keys = keys_of(action, group, user)
    rest = [len(keys), *keys, user, ",".join(role for role in roles if "," not in role), cost]
    if now_ms is not None:
        rest.append(now_ms)
    try:
        return client.evalsha(SHA, *rest)
    except redis.exceptions.NoScriptError:
        return client.eval(SCRIPT, *rest)  # runs it and keeps it
