-- Puts or lifts a mute as a moderator or a rebuild asks; policy/state.go (Put, Lift) is the reference.
--
-- KEYS  1 member:<group>|<user>   packed strikes and mute, see check.lua
--       2 muted:<group>           sorted set, user -> end ms
--       3 policy:message|<group>  hash; its program holds the forgiveness clock of all speech actions
--       4 default:message         hash, likewise where the group has none
-- ARGV  1 put or lift
--       2 user
--       3 start  ms since the epoch; it names the mute. lift: ends a mute that started then or before
--       4 end    ms since the epoch (put)
--       5 cause  one letter: l ladder, m moderator, v review, x remove (put)
--       6 step   of the ladder, 0 = none (put)
--       7 now    ms since the epoch, for tests; absent = the clock of Redis
-- Result  put: 1 applied, 0 a newer or lifted one stays; lift: the start of the lifted mute as text, 0 = none
-- Cost    about ten calls

local try, call, byte, char = redis.pcall, redis.call, string.byte, string.char

local function number(text, from, to)
  local n = 0
  for at = from, to do n = n * 256 + byte(text, at) end
  return n
end

local function packed(n, width)
  local text = ''
  for _ = 1, width do
    local low = n % 256
    text = char(low) .. text
    n = (n - low) / 256
  end
  return text
end

local function most(a, b) return a > b and a or b end

local op, user, start = ARGV[1], ARGV[2], tonumber(ARGV[3], 10)
local now = ARGV[7] and tonumber(ARGV[7], 10)
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end

local forgive = 600000
for source = 3, 4 do
  local program = try('HGET', KEYS[source], 'program')
  local size = type(program) == 'string' and #program or 0
  local algorithm = size >= 25 and size <= 63 and byte(program) or 0
  if algorithm > 0 and algorithm < 8 and size % 6 == (algorithm == 4 and 3 or 1) then
    if number(program, 22, 25) > 0 then forgive = number(program, 22, 25) end
    break
  end
end

local record = try('GET', KEYS[1])
local strikes, last_strike, held_until, mute_start, mute_end, cause, step = 0, 0, 0, 0, 0, '0', 0
if type(record) == 'string' and #record == 28 and byte(record) == 1 then
  strikes, last_strike, held_until = byte(record, 2), number(record, 3, 8), number(record, 9, 14)
  mute_start, mute_end, cause, step = number(record, 15, 20), number(record, 21, 26), record:sub(27, 27), byte(record, 28)
end
local other = held_until ~= mute_end and held_until or 0
local left = strikes
if now > held_until then left = most(0, strikes - (now - held_until - (now - held_until) % forgive) / forgive) end

local result = 1
if op == 'put' then
  if start < mute_start or (start == mute_start and cause == '-') then return 0 end
  local till = tonumber(ARGV[4], 10)
  if ARGV[5] ~= 'm' and cause ~= '-' then till = most(till, mute_end) end
  strikes = left
  mute_start, mute_end, cause, step = start, till, ARGV[5], tonumber(ARGV[6], 10)
  held_until = most(most(last_strike, other), till)
else
  if mute_start == 0 or mute_start > start or cause == '-' then return '0' end
  if mute_end > now then
    strikes = left
    if cause ~= 'm' and strikes > 0 then strikes = strikes - 1 end
    mute_end = now
    held_until = most(most(last_strike, other), now)
  end
  cause, result = '-', string.format('%.0f', mute_start)
end

local function ttl(ms)
  ms = ms * 6 + 4999
  return (ms - ms % 5000) / 5000
end

local need = most(1000, held_until + strikes * forgive - now)
if cause == '-' then need = most(need, 60000) else need = most(need, mute_end - now) end
call('SET', KEYS[1], char(1, strikes) .. packed(last_strike, 6) .. packed(held_until, 6) .. packed(mute_start, 6)
  .. packed(mute_end, 6) .. cause .. char(step), 'EX', ttl(need))

if type(try('ZREM', KEYS[2], user)) == 'table' then call('DEL', KEYS[2]) end
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if cause ~= '-' and mute_end > now then call('ZADD', KEYS[2], mute_end, user) end
local latest = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
if latest[2] then call('EXPIRE', KEYS[2], ttl(latest[2] - now)) end
return result
