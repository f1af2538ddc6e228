-- Writes hashes that Postgres owns (compiled policies, notices), each only if it is not older than what is stored.
--
-- KEYS  hashes of one shard
-- ARGV  1 kinds: one byte for each key, '=' or '*'
--       then a hash of which others are told as what differs: m, and m times field and value, 'order' among the fields;
--       m = 0 where nothing is told so
--       then v, and v numbers from 1 to m: the fields whose values differ
--       then for each key:
--       =  the v values
--       *  n, seen, order, digest ('' of a tombstone), format, offsets, then n words field value field value …
--       seen    '' = guarded by order; else the stored order (0 = none) that the writer has compared: replaced iff it
--               is still that, whatever order and digest say
--       order   decimal integer < 2^53; a hash with a higher one stays
--       offsets ms since the epoch until which the hash knows its time zone's offset, '' = it needs none; at equal order
--               and format the hash that knows it longer stays
-- Result  for each key: 1 written, 0 already so, -1 a newer one stays
-- Cost    HGET, HSET and HLEN for each key that is written; about as much as its HSET alone by a pipeline, which has to
--         be told the names of the fields and the values that many hashes share

local try, call, byte, find = redis.pcall, redis.call, string.byte, string.find
local ARGV, results, words, place, spots = ARGV, {}, {}, {}, {}
local kinds, m = ARGV[1], tonumber(ARGV[2], 10)
for j = 1, 2 * m, 2 do
  words[j], words[j + 1], place[ARGV[j + 2]] = ARGV[j + 2], ARGV[j + 3], j + 1
end
local at = 2 * m + 3
local v = tonumber(ARGV[at], 10)
for j = 1, v do
  spots[j] = 2 * tonumber(ARGV[at + j], 10)
end
at = at + v
local order_at, digest_at, format_at, offsets_at = place.order, place.digest, place.format, place.next_offset_at

-- What stands at the same order: 0 = just this, -1 = something that stays, false = it is replaced.
local function beside(key, digest, format, offsets)
  local stored = call('HMGET', key, 'digest', 'format', 'next_offset_at', 'deleted')
  if stored[1] == digest or digest == '' and not stored[1] and stored[4] then return 0 end
  local newer, own = tonumber(stored[2] or '0', 10) or 0, tonumber(format, 10)
  if newer > own then return -1 end
  local reach = offsets ~= '' and newer == own and stored[3]
  if reach and #reach <= 14 and find(reach, '^%d+$') and tonumber(reach, 10) > tonumber(offsets, 10) then return -1 end
  return false
end

local order_text, order, known_text, known_number
for k = 1, #KEYS do
  local key, list, first, last = KEYS[k], words, 1, 2 * m
  local seen, text, digest, format, offsets = '', nil, nil, nil, nil
  if byte(kinds, k) == 61 then
    for j = 1, v do
      words[spots[j]] = ARGV[at + j]
    end
    at = at + v
    text = words[order_at]
  else
    list, first, last = ARGV, at + 7, at + 6 + tonumber(ARGV[at + 1], 10)
    seen, text, digest, format, offsets = ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
    at = last
  end
  if text ~= order_text then
    order_text, order = text, tonumber(text, 10)
  end
  local stored, known, kept = try('HGET', key, 'order'), 0, false
  if not stored then
    known = 0
  elseif stored == known_text then
    known = known_number
  elseif type(stored) == 'table' then
    call('DEL', key)
  elseif #stored <= 16 and find(stored, '^%d+$') then
    known = tonumber(stored, 10)
    known_text, known_number = stored, known
  end
  if known < order or seen ~= '' and tonumber(seen, 10) == known then
    kept = false
  elseif known > order then
    kept = -1
  elseif list == words then
    kept = beside(key, words[digest_at], words[format_at], offsets_at and words[offsets_at] or '')
  else
    kept = beside(key, digest, format, offsets)
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
