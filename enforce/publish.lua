-- Writes hashes that Postgres owns (compiled policies, notices), each only if it is not older than what is stored.
--
-- KEYS  hashes of one shard
-- ARGV  for each key: order, digest ('' of a tombstone), format, seen, offsets, n, then n words field value field value …
--       order   decimal integer < 2^53; a hash with a higher one stays
--       seen    '' = guarded by order; else the stored order (0 = none) that the writer has compared: replaced iff it
--               is still that, whatever order and digest say
--       offsets ms since the epoch until which the hash knows its time zone's offset, '' = it needs none; at equal order
--               and format the hash that knows it longer stays
-- Result  for each key: 1 written, 0 already so, -1 a newer one stays
-- Cost    two calls and a HLEN for each key; about 5 µs for a policy in calls of 25

local try, call = redis.pcall, redis.call
local results, at = {}, 1
for k, key in ipairs(KEYS) do
  local order, digest, format, seen = tonumber(ARGV[at], 10), ARGV[at + 1], tonumber(ARGV[at + 2], 10), ARGV[at + 3]
  local first, offsets = at + 6, ARGV[at + 4]
  local last = first + ARGV[at + 5] - 1
  at = last + 1
  local stored = try('HMGET', key, 'order', 'digest', 'format', 'next_offset_at')
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
        local newer = tonumber(stored[3] or '0', 10)
        if kept ~= 0 and (newer > format or newer == format and stored[4] and offsets ~= ''
          and #stored[4] <= 14 and stored[4]:find('^%d+$') and tonumber(stored[4], 10) > tonumber(offsets, 10)) then
          kept = -1
        end
      end
    end
  end
  if not kept then
    call('HSET', key, unpack(ARGV, first, last))
    if call('HLEN', key) ~= (last - first + 1) / 2 then
      call('DEL', key)
      call('HSET', key, unpack(ARGV, first, last))
    end
    kept = 1
  end
  results[k] = kept
end
return results
