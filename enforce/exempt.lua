-- Replaces a group's named exemptions, unless newer ones are stored.
--
-- KEYS  1 exempt:<group>   sorted set, user -> expiry ms
--       2 exemptv:<group>  its order, kept even when the set is empty
-- ARGV  1 order  decimal integer < 2^53
--       2 seen   '' = guarded by order; else the stored order (0 = none) that the writer has compared: replaced iff it is
--                still that
--       3 …      expiry (ms, or inf) and user of each entry
-- Result  1 written, 0 already so (same order and as many entries), -1 newer ones stay
-- Cost    linear; 10,000 entries about 10 ms

local order, seen = tonumber(ARGV[1], 10), ARGV[2]
local stored = redis.pcall('GET', KEYS[2])
if type(stored) == 'string' and #stored <= 16 and stored:find('^%d+$') then
  local known = tonumber(stored, 10)
  if seen == '' or tonumber(seen, 10) ~= known then
    if known > order then return -1 end
    if known == order and redis.pcall('ZCARD', KEYS[1]) == (#ARGV - 2) / 2 then return 0 end
  end
end
redis.call('DEL', KEYS[1])
for at = 3, #ARGV, 4000 do -- the stack of Lua holds 8,000 words
  local last = at + 3999
  if last > #ARGV then last = #ARGV end
  redis.call('ZADD', KEYS[1], unpack(ARGV, at, last))
end
redis.call('SET', KEYS[2], ARGV[1])
return 1
