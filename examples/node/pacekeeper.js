// A check from Node: the keys, the call, and what to do when Redis has lost the script.
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { createHash } from 'node:crypto'

const script = readFileSync(new URL('../../enforce/check.lua', import.meta.url), 'utf8')
const sha = createHash('sha1').update(script).digest('hex')

/** The cluster hash tag of all keys of a group: CRC-32 of the id's bytes mod 256. */
export function shardTag(group) {
  return `{s${(crc32(Buffer.from(group)) & 255).toString(16).padStart(2, '0')}}`
}

/** KEYS of the script, in its order. ~user, ~peer and ~ip stand in a group's place, their subject in the user's. */
export function keysOf({ action, group, user }, prefix = 'pk') {
  const head = `${prefix}:${shardTag(group.startsWith('~') ? user : group)}`
  return [
    `${head}:policy:${action}|${group}`,
    `${head}:default:${action}`,
    `${head}:state:${action}|${group}|${user}`,
    `${head}:member:${group}|${user}`,
  ]
}

/** Decides one attempt. Codes 0 to 4 pass; 3 passes after waitMs. `now` (ms since the epoch) is for tests. */
export async function check(redis, attempt, now) {
  const { user, roles = [], cost = 1 } = attempt
  const keys = keysOf(attempt)
  const rest = [keys.length, ...keys, user, roles.filter((role) => !role.includes(',')).join(','), cost, ...(now === undefined ? [] : [now])]
  const answer = await redis.evalsha(sha, ...rest).catch((error) => {
    if (!error.message.startsWith('NOSCRIPT')) throw error
    return redis.eval(script, ...rest) // runs it and keeps it
  })
  const [code, waitMs, remaining, limit, strikes, step, version] = answer
  return { allowed: code <= 4, code, waitMs, remaining, limit, strikes, step, version, tuple: answer }
}
