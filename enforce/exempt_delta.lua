-- Brings a group's named exemptions from one order to a later one, by the entries that changed in between.
--
-- KEYS  1 exempt:<group>   sorted set, user -> expiry ms
--       2 exemptv:<group>  its order
-- ARGV  1 order  decimal integer < 2^53: what the set is afterwards
--       2 base   the order from which on the changes are known
--       3 count  entries of the whole set afterwards
--       4 …      expiry (ms, or inf; '' = removed) and user of each entry that changed after base, as of order
-- Result  {1, order} written; {0, order} already so; {-1, stored} a newer one stays; {-2, stored} what is stored (0 = nothing
--         that can be read) is older than base, or is not what it should be: the whole set is needed
-- Cost    two calls, and one for each entry

local call, try = redis.call, redis.pcall
local order, base, count = tonumber(ARGV[1], 10), tonumber(ARGV[2], 10), tonumber(ARGV[3], 10)
local stored = try('GET', KEYS[2])
if type(stored) ~= 'string' or #stored > 16 or not stored:find('^%d+$') then return {-2, 0} end
stored = tonumber(stored, 10)
if stored > order then return {-1, stored} end
if stored < base then return {-2, stored} end
if stored < order then
  for at = 4, #ARGV, 2 do
    local done
    if ARGV[at] == '' then
      done = try('ZREM', KEYS[1], ARGV[at + 1])
    else
      done = try('ZADD', KEYS[1], ARGV[at], ARGV[at + 1])
    end
    if type(done) ~= 'number' then return {-2, 0} end
  end
end
if try('ZCARD', KEYS[1]) ~= count then return {-2, 0} end
if stored == order then return {0, order} end
call('SET', KEYS[2], ARGV[1])
return {1, order}
