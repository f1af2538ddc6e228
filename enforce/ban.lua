-- Puts back or lifts a ban as a rebuild or a moderator asks; policy/state.go (PutBan, LiftBan) is the reference.
--
-- KEYS  1 state:<action>|<group>|<user>  packed state, see check.lua
--       2 member:<group>|<user>          packed record, whose forgiveness clock a lifted ban no longer holds
--       3 policy:<action>|<group>        hash; its program says how long the state is needed
--       4 default:<action>               hash, likewise where the group has none
-- ARGV  1 put or lift
--       2 start  ms since the epoch; it names the ban. lift: ends a ban that started then or before
--       3 end    ms since the epoch (put)
--       4 now    ms since the epoch, for tests; absent = the clock of Redis
-- Result  put: 1 applied, 0 a newer or lifted one stays; lift: the start of the lifted ban as text, 0 = none
-- Cost    about six calls

local try, call, byte, char = redis.pcall, redis.call, string.byte, string.char

local function number(text, from, to)
  local n = 0
  for at = from, to do n = n * 256 + byte(text, at) end
  return n
end

local function packed(n)
  local text = ''
  for _ = 1, 6 do
    local low = n % 256
    text = char(low) .. text
    n = (n - low) / 256
  end
  return text
end

local function most(a, b) return a > b and a or b end

local op, start = ARGV[1], tonumber(ARGV[2], 10)
local now = ARGV[4] and tonumber(ARGV[4], 10)
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end

local interval, period = 2000, 30000
for source = 3, 4 do
  local program = try('HGET', KEYS[source], 'program')
  local size = type(program) == 'string' and #program or 0
  local first = size >= 25 and size <= 63 and byte(program) or 0
  if first > 0 and first < 8 and size % 6 == (first == 4 and 3 or 1) then
    interval, period = number(program, 3, 6), number(program, 9, 12)
    if number(program, 7, 8) == 0 then period = 0 end
    if first == 4 then period = period * 2 end -- at most: a bucket may be as wide as the period
    break
  end
end

local state = try('GET', KEYS[1])
local last, ban_start, ban_end, count, kind = '\0\0\0\0\0\0', 0, 0, '', 0 -- kind: the flags without the ban's
if type(state) == 'string' and #state >= 7 then
  local flags = byte(state)
  local bits = flags % 16
  local shape, banned = (flags - bits) / 16, bits % 2 == 1
  local rest = #state - (banned and 19 or 7)
  if rest >= 0 and (shape == 0 and bits < 4 and rest % 4 == 0 or bits < 2
    and (shape == 3 and rest % 6 == 0 or rest == 8 and (shape == 1 or shape == 2 or shape == 4))) then
    kind, last, count = banned and flags - 1 or flags, state:sub(2, 7), state:sub(-rest)
    if rest == 0 then count = '' end
    if banned then ban_start, ban_end = number(state, 8, 13), number(state, 14, 19) end
    if rest == 8 and shape > 0 then -- a moment and a count: until the window ends, or the bucket is empty
      local till = number(count, 1, 6)
      if shape == 1 then till = till + period elseif shape == 4 then till = till + number(count, 7, 8) * period end
      period = till - now
    end
  end
end

local result = 1
if op == 'put' then
  if start < ban_start or (start == ban_start and ban_end == 0) then return 0 end
  ban_start, ban_end = start, most(ban_end, tonumber(ARGV[3], 10))
else
  if ban_start == 0 or ban_start > start or ban_end == 0 then return '0' end
  local record = try('GET', KEYS[2])
  if type(record) == 'string' and #record == 28 and number(record, 9, 14) == ban_end and ban_end > now then
    local held = most(number(record, 3, 8), now)
    if record:sub(27, 27) ~= '-' then held = most(held, number(record, 21, 26)) end
    call('SET', KEYS[2], record:sub(1, 8) .. packed(held) .. record:sub(15), 'KEEPTTL')
  end
  ban_end, result = 0, string.format('%.0f', ban_start)
end
local need = most(most(most(1000, interval), period), ban_end - now) * 6 + 4999
call('SET', KEYS[1], char(kind + 1) .. last .. packed(ban_start) .. packed(ban_end) .. count, 'EX', (need - need % 5000) / 5000)
return result
