-- Replaces the epochs of shards, each iff it is still the one seen.
--
-- KEYS  epochs
-- ARGV  1 next, then for each key what was seen, '' = absent
-- Result  for each key: 1 replaced, 0 another writer was first
-- Cost    two calls for each key

local results = {}
for i, key in ipairs(KEYS) do
  local stored = redis.pcall('GET', key)
  if type(stored) ~= 'string' then stored = '' end
  results[i] = 0
  if stored == ARGV[i + 1] then
    redis.call('SET', key, ARGV[1])
    results[i] = 1
  end
end
return results
