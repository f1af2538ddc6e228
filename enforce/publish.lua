-- Writes hashes that Postgres owns (compiled policies, notices), each only if it is not older than what is stored.
--
-- KEYS  hashes of one shard
-- ARGV  m, then m names of fields that most of the hashes have, in their order; then for each key: n, seen, and
--       n = 0   the values of those m fields
--       n > 0   order, digest ('' of a tombstone), format, offsets, then n words field value field value …
--       seen    '' = guarded by order; else the stored order (0 = none) that the writer has compared: replaced iff it
--               is still that, whatever order and digest say
--       order   decimal integer < 2^53; a hash with a higher one stays
--       offsets ms since the epoch until which the hash knows its time zone's offset, '' = it needs none; at equal order
--               and format the hash that knows it longer stays
-- Result  for each key: 1 written, 0 already so, -1 a newer one stays
-- Cost    two calls and a HLEN for each key; about 5 µs for a policy in calls of 25

local try, call = redis.pcall, redis.call
local results, words, place = {}, {}, {}
local m = tonumber(ARGV[1], 10)
for j = 1, m do
  local name = ARGV[j + 1]
  words[2 * j - 1], place[name] = name, j
end
local at = m + 2
for k, key in ipairs(KEYS) do
  local n, seen = tonumber(ARGV[at], 10), ARGV[at + 1]
  local order, digest, format, offsets, list, first, last
  if n == 0 then
    at = at + 1
    for j = 1, m do
      words[2 * j] = ARGV[at + j]
    end
    order, digest, format = ARGV[at + place.order], ARGV[at + place.digest], ARGV[at + place.format]
    offsets = place.next_offset_at and ARGV[at + place.next_offset_at] or ''
    list, first, last = words, 1, 2 * m
    at = at + m + 1
  else
    order, digest, format, offsets = ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
    list, first, last = ARGV, at + 6, at + 5 + n
    at = last + 1
  end
  order = tonumber(order, 10)
  local stored
  if offsets == '' then
    stored = try('HMGET', key, 'order', 'digest', 'format')
  else
    stored = try('HMGET', key, 'order', 'digest', 'format', 'next_offset_at')
  end
  local known, kept = 0, false
  if stored.err then
    call('DEL', key)
  elseif stored[1] and #stored[1] <= 16 and stored[1]:find('^%d+$') then
    known = tonumber(stored[1], 10)
    if seen == '' or tonumber(seen, 10) ~= known then
      if known > order then
        kept = -1
      elseif known == order then
        if stored[2] then
          if stored[2] == digest then kept = 0 end
        elseif digest == '' and call('HEXISTS', key, 'deleted') == 1 then
          kept = 0
        end
        local newer, own = tonumber(stored[3] or '0', 10), tonumber(format, 10)
        if kept ~= 0 and (newer > own or newer == own and stored[4] and offsets ~= ''
          and #stored[4] <= 14 and stored[4]:find('^%d+$') and tonumber(stored[4], 10) > tonumber(offsets, 10)) then
          kept = -1
        end
      end
    end
  end
  if not kept then
    call('HSET', key, unpack(list, first, last))
    if call('HLEN', key) ~= (last - first + 1) / 2 then
      call('DEL', key)
      call('HSET', key, unpack(list, first, last))
    end
    kept = 1
  end
  results[k] = kept
end
return results
