// Asks the limiters that live in Node, for the bench: one line of JSON in, one out. Arguments: socket of Redis, group.
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { readFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import Redis from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { Ratelimit } from '@upstash/ratelimit'
import { check } from '../../../examples/node/pacekeeper.js'

const [socket, group] = process.argv.slice(2)
const redis = new Redis({ path: socket, enableReadyCheck: false })
const versionOf = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version

// What @upstash/ratelimit asks of its client, spoken to an ordinary Redis, which does not know the first line of its scripts
// (a flag of its makers' own service): they run without it.
const withoutFlag = new Map() // hash of a script → hash of its text without that line
const direct = {
  evalsha: (sha, keys, args) => redis.evalsha(withoutFlag.get(sha) ?? sha, keys.length, ...keys, ...args),
  eval: async (script, keys, args) => {
    const text = script.replace(/^#![^\n]*/, '')
    withoutFlag.set(createHash('sha1').update(script).digest('hex'), await redis.script('LOAD', text))
    return redis.eval(text, keys.length, ...keys, ...args)
  },
}

const once = (make) => {
  const made = new Map()
  return (limit, period) => {
    const key = `${limit}/${period}`
    if (!made.has(key)) made.set(key, make(limit, period))
    return made.get(key)
  }
}

const upstash = (kind) => once((limit, period) => new Ratelimit({
  redis: direct, ephemeralCache: false, analytics: false, timeout: 0, prefix: `up-${kind}`,
  limiter: kind === 'tokenBucket' ? Ratelimit.tokenBucket(1, `${Math.round(period / limit)} ms`, limit) : Ratelimit[kind](limit, `${period} ms`),
}))
const flexible = once((limit, period) => new RateLimiterRedis({ storeClient: redis, points: limit, duration: period / 1000, keyPrefix: 'rlf' }))
const fixed = upstash('fixedWindow'), sliding = upstash('slidingWindow'), tokens = upstash('tokenBucket')

const peers = {
  '**this kit**, tuple from Node (ioredis)': async (q, user) => (await check(redis, { action: q.action, group, user })).allowed,
  [`rate-limiter-flexible ${versionOf('rate-limiter-flexible')} (counter)`]: (q, user) =>
    flexible(q.limit, q.period_ms).consume(`${q.action}|${group}|${user}`).then(() => true, (refused) => {
      if (refused instanceof Error) throw refused
      return false
    }),
  [`@upstash/ratelimit ${versionOf('@upstash/ratelimit')}, fixedWindow`]: async (q, user) => (await fixed(q.limit, q.period_ms).limit(`${q.action}|${group}|${user}`)).success,
  [`@upstash/ratelimit ${versionOf('@upstash/ratelimit')}, slidingWindow`]: async (q, user) => (await sliding(q.limit, q.period_ms).limit(`${q.action}|${group}|${user}`)).success,
  [`@upstash/ratelimit ${versionOf('@upstash/ratelimit')}, tokenBucket`]: async (q, user) => (await tokens(q.limit, q.period_ms).limit(`${q.action}|${group}|${user}`)).success,
}
const name = (i) => `user-${1_000_000 + i}`

async function many(q) {
  let passed = 0
  for (let i = q.first; i < q.first + q.members; i++) if (await peers[q.peer](q, name(i))) passed++
  return { passed }
}

// The same patterns as measure.go's.
async function attack(q) {
  const period = q.period_ms, spans = []
  await sleep(period - (Date.now() % period))
  const began = performance.now(), at = () => performance.now() - began
  const until = q.attack === 'seam' ? period * 1.3 : period * 2.5
  while (at() < until) {
    const sent = at()
    if (await peers[q.peer](q, name(q.first))) spans.push([sent, at()])
    if (q.attack === 'seam' && at() < period * 0.8) await sleep(period * 0.8 - at())
    await sleep(1)
  }
  return { spans }
}

const say = (reply) => process.stdout.write(JSON.stringify(reply) + '\n')
say({ version: `Node ${process.versions.node}, ioredis ${versionOf('ioredis')}`, peers: Object.keys(peers) })
for await (const line of createInterface({ input: process.stdin })) {
  const q = JSON.parse(line)
  const answer = q.attack ? attack(q) : many(q)
  answer.then((r) => say({ id: q.id, ...r }), (e) => say({ id: q.id, error: String(e) }))
}
redis.disconnect()
