-- Replaces a shard's epoch iff it is still the one seen.
--
-- KEYS  1 epoch
-- ARGV  1 seen  '' = absent
--       2 next
-- Result  1 replaced, 0 another writer was first
-- Cost    two calls

local stored = redis.pcall('GET', KEYS[1])
if type(stored) ~= 'string' then stored = '' end
if stored ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
