// Holds the client against ../vectors.json. REDIS_URL names a Redis of its own; what the vectors touch there is replaced.
import { readFileSync } from 'node:fs'
import Redis from 'ioredis'
import { check, keysOf } from './pacekeeper.js'

const { policies, exemptions, calls } = JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url), 'utf8'))
const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')

await redis.script('FLUSH') // the first call meets NOSCRIPT
for (const call of calls) {
  await redis.del(...keysOf(call).slice(2))
  await redis.del(keysOf({ ...call, user: '~group' })[2])
}
for (const { key, fields } of policies) {
  for (const [name, value] of Object.entries(fields)) await redis.hset(key, name, Buffer.from(value, 'base64'))
}
for (const { key, user, expiry } of exemptions) await redis.zadd(key, expiry, user)

let failed = 0
for (const call of calls) {
  const got = await check(redis, call, call.now_ms)
  const key = keysOf(call)[0]
  if (!key.startsWith(`pk:${call.tag}:`) || got.tuple.join() !== call.want.join()) {
    failed++
    console.error('call', JSON.stringify(call), 'got', key, got.tuple)
  }
}
console.log(`node ${process.versions.node}, ioredis: ${calls.length - failed} passed, ${failed} failed`)
redis.disconnect()
process.exitCode = failed > 0 ? 1 : 0
