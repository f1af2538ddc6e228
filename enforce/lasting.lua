-- Gives a key that would last for ever a time to live.
--
-- KEYS  1 the key
-- ARGV  1 time to live, s
-- Result  1 = given; 0 = somebody gave it one meanwhile, or it is gone
if redis.call('TTL', KEYS[1]) ~= -1 then return 0 end
return redis.call('EXPIRE', KEYS[1], ARGV[1])
