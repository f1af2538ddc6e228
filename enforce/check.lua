-- Decides one attempt and records what it leaves behind. policy/decide.go is the reference; a parity test holds both
-- together, cell by cell.
--
-- KEYS  1 policy:<action>|<group>   hash, compiled policy of the group; missing or damaged = KEYS[2]
--       2 default:<action>          hash, compiled defaults; missing or damaged = the factory values below
--       3 state:<action>|<group>|<user>   packed state of this action
--       4 member:<group>|<user>     packed strikes and mute, over all speech actions
--       5 exempt:<group>            sorted set, user -> expiry ms
--       6 muted:<group>             sorted set, user -> end ms
--       7 events                    stream of the shard
--       8 state:<action>|<group>|~group   packed state of the whole group, where the policy limits that
--       5 to 8 are read or written only where an attempt does not simply pass, or a group's limit asks for it. They may be
--       left out, which saves a twentieth of the call: the script then builds them from KEYS[3] and KEYS[4], with which
--       they share slot and prefix.
-- ARGV  1 user    absent or empty = the part of KEYS[4] behind its last |
--       2 roles   of the member, comma separated; absent or empty = none
--       3 cost    attempts asked for, a decimal integer; absent or empty = 1, 0 = peek (answers, changes nothing)
--       4 now     ms since the epoch, for tests; absent = the clock of Redis
-- Result  seven integers {code, wait_ms, remaining, limit, strikes, step, version}; codes as in policy/decide.go
-- Errors  only those of Redis itself (out of memory, read-only replica); never from what the keys hold
-- Cost    an allowed attempt is 5 calls (HGET, TIME, GET, GET, SET), nine tenths of a GCRA limiter's
--
-- Moments are ms since the epoch. Packed numbers are big-endian:
--   program  algorithm 1 (1 sliding window, fixed window 2 from the first and 3 by the calendar, 4 sliding counter, 5 token
--            bucket, leaky bucket 6 as meter and 7 as queue), flags 1 (1 enabled, 2 soft, 4 count_refused, 8 speech,
--            16 bans hold to the end of the day, 32 the group has a limit: group_program), interval 4, limit or capacity 2, period or pace 4, version 5, ban 4,
--            forgive 4, [buckets 2 of algorithm 4]; per step after 1, do 1, for 4
--   group_program  algorithm 1, flags 1 (4 count_refused), limit or capacity 2, period or pace 4, buckets 2
--   state    flags 1 (1 has a ban, 2 its newest attempt was a refused one, 16 × shape), last 6, [ban_start 6, ban_end 6];
--            shape 0: 4 for each recorded attempt (mod 2^32); 1 start 6 and 2 end 6 of the window, count 2; 3: per bucket
--            start 4 (mod 2^32), count 2; 4: since when the next drop is on its way out 6, drops in the bucket 2
--   member   format 1, strikes 1, last_strike 6, held_until 6, mute_start 6, mute_end 6, cause 1, step 1

local KEYS, ARGV, call, try = KEYS, ARGV, redis.call, redis.pcall
local byte, char, sub, find = string.byte, string.char, string.sub, string.find

-- The policy: interval 2 s, 8 per 30 s and the ladder of three mutes and a review where nothing readable is stored.
local user, roles, cost, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local program, algorithm, flags, interval, limit, period, version, origin, exempt
local l1, l2, v1, v2, v3, v4, v5 -- the bytes of limit and version, for replies that are packed
for source = 1, 3 do
  if source == 1 and roles and roles ~= '' then
    local both = try('HMGET', KEYS[1], 'program', 'exempt_roles')
    program, exempt = both[1], both[2]
  elseif source < 3 then
    program = try('HGET', KEYS[source], 'program')
  else
    program = '\1\9\0\0\7\208\0\8\0\0\117\48\0\0\0\0\0\0\0\0\0\0\9\39\192'
      .. '\3m\0\0\234\96\4m\0\4\147\224\5m\0\54\238\128\6r\0\0\0\0'
  end
  local size = program and #program or 0 -- an error is a table, of length 0
  if size >= 25 and size <= 63 then
    local i1, i2, i3, i4, p1, p2, p3, p4
    algorithm, flags, i1, i2, i3, i4, l1, l2, p1, p2, p3, p4, v1, v2, v3, v4, v5 = byte(program, 1, 17)
    if algorithm == 1 and size % 6 == 1 or algorithm > 1 and algorithm < 8 and size % 6 == (algorithm == 4 and 3 or 1) then
      interval = ((i1 * 256 + i2) * 256 + i3) * 256 + i4
      limit = l1 * 256 + l2
      period = ((p1 * 256 + p2) * 256 + p3) * 256 + p4
      version = (((v1 * 256 + v2) * 256 + v3) * 256 + v4) * 256 + v5
      origin = source
      break
    end
  end
end
local enabled, speech = flags % 2 == 1, flags % 16 >= 8
local whole = flags % 64 >= 32 and enabled -- there is a limit of the whole group
if limit > 10000 then limit = 10000 end
if limit > 0 and period == 0 then period = 30000 end

if not cost or cost == '' or cost == '1' then
  cost = 1
elseif #cost <= 15 and not cost:find('%D') then
  cost = tonumber(cost, 10)
else
  cost = -1
end

-- An exempt role is decided first: only a moderator's mute holds it, and nothing is recorded. Without a record of the
-- member there is nothing more to know.
local exempted, record, state = false, false, false
if roles and roles ~= '' then
  if type(exempt) ~= 'string' or exempt == '' then exempt = try('HGET', KEYS[2], 'exempt_roles') end
  if type(exempt) ~= 'string' or exempt == '' then exempt = 'admin,bot,owner' end
  exempt = ',' .. exempt .. ','
  if find(roles, ',', 1, true) then
    for role in roles:gmatch('[^,]+') do
      exempted = exempted or find(exempt, ',' .. role .. ',', 1, true)
    end
  else
    exempted = find(exempt, ',' .. roles .. ',', 1, true)
  end
  if exempted then
    record = speech and try('GET', KEYS[4])
    if not record and not whole then return {1, 0, 0, 0, 0, 0, version} end
    if type(record) ~= 'string' then record = '' end
  end
end

local time
if now and #now <= 14 and now:find('^%d+$') then
  now = tonumber(now, 10)
else
  time = call('TIME')
  local us = time[2] + 0
  now = time[1] * 1000 + (us - us % 1000) / 1000
end

-- The member: strikes after forgiveness, and the mute if one is in force. The state comes with it.
if exempted then
  state = false
else
  if speech then record = try('GET', KEYS[4]) end
  state = try('GET', KEYS[3])
  if record and type(record) ~= 'string' then record = false end -- what is no string is none
end

local strikes, stored, last_strike, held_until, mute_start, mute_end, cause, mute_step = 0, 0, 0, 0, 0, 0, 48, 0
local muted, known, forgive = 0, false, nil
if record then
  local f1, f2, f3, f4 = byte(program, 22, 25)
  forgive = ((f1 * 256 + f2) * 256 + f3) * 256 + f4
  if forgive == 0 then forgive = 600000 end
  known = #record == 28 and byte(record) == 1
  if known then
    local _, s, a1, a2, a3, a4, a5, a6, b1, b2, b3, b4, b5, b6, c1, c2, c3, c4, c5, c6, d1, d2, d3, d4, d5, d6, why, step =
      byte(record, 1, 28)
    last_strike = ((((a1 * 256 + a2) * 256 + a3) * 256 + a4) * 256 + a5) * 256 + a6
    held_until = ((((b1 * 256 + b2) * 256 + b3) * 256 + b4) * 256 + b5) * 256 + b6
    mute_start = ((((c1 * 256 + c2) * 256 + c3) * 256 + c4) * 256 + c5) * 256 + c6
    mute_end = ((((d1 * 256 + d2) * 256 + d3) * 256 + d4) * 256 + d5) * 256 + d6
    stored, cause, mute_step = s, why, step
    strikes = stored
    if now > held_until then
      strikes = stored - (now - held_until - (now - held_until) % forgive) / forgive
      if strikes < 0 then strikes = 0 end
    end
    if cause ~= 45 and mute_end > now then muted = mute_end - now end
  end
  if now % 16 == 0 and cost ~= 0 and try('TTL', KEYS[4]) == -1 then
    local need = held_until + stored * forgive - now
    if need < 1000 then need = 1000 end
    if cause == 45 then
      if need < 60000 then need = 60000 end
    elseif mute_end - now > need then
      need = mute_end - now
    end
    need = need * 6 + 4999
    call('EXPIRE', KEYS[4], (need - need % 5000) / 5000 .. '')
  end
end

-- What nearly every attempt is: one under a sliding window alone, with a plain log, or with none. The general code below
-- says the same of what passes here and of what is refused without a trace, at a tenth more of the call. `log` is where the
-- first live entry of the state begins, a to d are that entry's bytes.
local exists, size, low = state, state and #state or 0, now % 4294967296 -- an error is a table, of length 0
local last, log, used, interval_wait, window_wait, plain, a, b, c, d = 0, 1, 0, 0, 0, nil, nil, nil, nil, nil
if algorithm == 1 and cost == 1 and flags % 2 == 1 and flags < 32 and limit > 0 and not exempted then
  local kind, a1, a2, a3, a4, a5, a6 = 1, nil, nil, nil, nil, nil, nil
  if size >= 11 and size % 4 == 3 then
    kind, a1, a2, a3, a4, a5, a6, a, b, c, d = byte(state, 1, 11)
    last, log = ((((a1 * 256 + a2) * 256 + a3) * 256 + a4) * 256 + a5) * 256 + a6, 8
  elseif not state then
    kind, state = 0, ''
  end
  plain = kind == 0 and last <= now
end
if plain then
  while log <= size and (low - (((a * 256 + b) * 256 + c) * 256 + d)) % 4294967296 >= period do
    log = log + 4
    a, b, c, d = byte(state, log, log + 3)
  end
  used = (size - log + 1) / 4
  if used < limit and last + interval <= now and muted == 0 then
    local high, n4 = (now - low) / 4294967296, low % 256
    local n3 = (low - n4) / 256 % 256
    local n12 = (low - low % 65536) / 65536
    local n2 = n12 % 256
    local entry = char((n12 - n2) / 256, n2, n3, n4)
    local need = interval > period and interval or period
    if need < 1000 then need = 1000 end
    need = need * 6 + 4999
    need = (need - need % 5000) / 5000
    if need >= 10 and need < 100 then
      local ones = need % 10
      need = char(48 + (need - ones) / 10, 48 + ones)
    else
      need = need .. ''
    end
    used = limit - used - 1
    call('SET', KEYS[3], char(0, (high - high % 256) / 256, high % 256) .. entry .. sub(state, log) .. entry, 'EX', need)
    return {0, 0, used, limit, strikes, 0, version}
  end
  if last > 0 and last + interval > now then interval_wait = last + interval - now end
  if used >= limit then
    if used > limit then a, b, c, d = byte(state, log + (used - limit) * 4, log + (used - limit) * 4 + 3) end
    window_wait = period - (low - (((a * 256 + b) * 256 + c) * 256 + d)) % 4294967296
  end
  local wait = interval_wait > window_wait and interval_wait or window_wait
  local again = now - last_strike
  if (muted > 0 or wait > 0 and (not speech or last_strike > 0 and again < 1000 and again > -1000)
    and (window_wait == 0 or sub(program, 18, 21) == '\0\0\0\0')) and flags % 8 == 1 and flags < 16 then
    local key = KEYS[4]
    local bar, tag = find(key, '|', 1, true) or 0, find(key, '}', 1, true)
    if (not exists or try('TTL', KEYS[3]) ~= -1)
      and not try('ZSCORE', KEYS[5] or sub(key, 1, tag + 1) .. 'exempt:' .. sub(key, tag + 9, bar - 1),
      user and user ~= '' and user or sub(key, bar + 1)) then
      local code = window_wait > 0 and window_wait >= interval_wait and 11 or 10
      if muted > 0 then
        code = cause == 118 and 15 or cause == 120 and 14 or 12
        if muted > wait then wait = muted end
      end
      used = limit > used and limit - used or 0
      return {code, wait, used, limit, strikes, 0, version}
    end
  end
end

-- The moment as it is stored: 2 bytes, then the 4 that a log entry has.
local n4 = low % 256
local rest = (low - n4) / 256
local n3 = rest % 256
rest = (rest - n3) / 256
local n2 = rest % 256
local entry = char((rest - n2) / 256, n2, n3, n4)
local high = (now - low) / 4294967296

-- When the minute, hour or day of the policy's time zone that holds now ends; UTC where no readable offset is stored. A
-- day ends at local midnight whatever the zone does in it, and where the clock jumps over that, there.
local unit_end
if algorithm == 3 or flags % 64 >= 16 then
  unit_end = function(unit)
    local found = origin < 3 and try('HMGET', KEYS[origin], 'utc_offset_ms', 'next_offset_at', 'next_offset_ms') or {}
    for i = 1, 3 do
      local text = found[i]
      found[i] = type(text) == 'string' and #text <= 14 and text:find('^%-?%d+$') and tonumber(text) or false
    end
    local offset, changes, after = found[1] or 0, found[2] or -1, found[3] or 86400001
    if offset > 86400000 or offset < -86400000 then
      offset, changes = 0, 0
    elseif after > 86400000 or after < -86400000 or changes < 0 then
      changes = 0
    end
    if changes > 0 and changes <= now then offset = after end
    local ends = now + unit - (now + offset) % unit
    if unit == 86400000 and changes > now and ends >= changes then
      ends = ends + offset - after
      if ends < changes then ends = changes end
    end
    return ends
  end
end

-- Counts by any algorithm: for the member by those that the fast path below does not know, and for the whole group. It
-- answers what is used, for how long that must be kept, whether a time was repaired, and the functions wait(more) and
-- charge(more), which answer when more fit, and what is to be stored after more. shape becomes that of the algorithm.
local count
if algorithm > 1 or whole then
  count = function(algorithm, limit, period, buckets, shape, stored, skewed)
    local t = {used = 0, keep = 0, changed = false, shape = 0}
    if algorithm > 1 and period > 604800000 then period = 604800000 end
    if algorithm == 1 then
      -- The sliding window: 4 bytes for each attempt.
      local entries = shape == 0 and stored or ''

      local function age(at)
        local e, f, g, h = byte(entries, at, at + 3)
        return (low - (((e * 256 + f) * 256 + g) * 256 + h)) % 4294967296
      end

      local ends = #entries
      while skewed and ends > 0 and age(ends - 3) >= 3200000000 do ends = ends - 4 end
      if ends < #entries then entries, t.changed = sub(entries, 1, ends) .. entry:rep((#entries - ends) / 4), true end
      local live = 1
      while live < #entries and age(live) >= period do live = live + 4 end
      entries = sub(entries, live)
      t.used, t.keep = #entries / 4, period

      t.wait = function(more)
        local over = #entries / 4 + more - limit
        return over > 0 and period - age(over * 4 - 3) or 0
      end

      t.charge = function(more)
        entries = entries .. entry:rep(more < limit and more or limit)
        if #entries > limit * 4 then entries = sub(entries, -limit * 4) end
        t.used = #entries / 4
        return entries
      end
    elseif algorithm == 4 then
      -- The sliding counter: its buckets count until the last attempt that they can hold is a period old.
      local width = (period + buckets - 1 - (period + buckets - 1) % buckets) / buckets
      local into, lasts = now % width, period + width
      local entries = shape == 3 and stored or ''
      t.shape = 3

      local function bucket(at)
        local e, f, g, h, count1, count2 = byte(entries, at, at + 5)
        return (low - (((e * 256 + f) * 256 + g) * 256 + h)) % 4294967296, count1 * 256 + count2
      end

      local function put(at, age, count)
        if count > 65535 then count = 65535 end
        local start = (low - age) % 4294967296
        local s4 = start % 256
        local s3 = (start - s4) / 256 % 256
        local s12 = (start - start % 65536) / 65536
        entries = sub(entries, 1, at - 1) .. char((s12 - s12 % 256) / 256, s12 % 256, s3, s4, (count - count % 256) / 256, count % 256)
          .. sub(entries, at + 6)
      end

      local function add(more)
        local at = #entries - 5
        local age, count
        if at > 0 then age, count = bucket(at) end
        if at > 0 and age <= into then put(at, age, count + more) else put(at + 6, into, more) end
      end

      local function sum()
        t.used, t.keep = 0, 0
        for at = 1, #entries, 6 do
          local age, count = bucket(at)
          t.used, t.keep = t.used + count, lasts - age
        end
      end

      local future, ends = 0, #entries
      while ends > 0 do
        local age, count = bucket(ends - 5)
        if age < 3200000000 then break end
        future, ends = future + count, ends - 6
      end
      if ends < #entries then
        entries, t.changed = sub(entries, 1, ends), true
        add(future)
      end
      local live = 1
      while live < #entries and bucket(live) >= lasts do live = live + 6 end
      entries = sub(entries, live)
      sum()

      t.wait = function(more)
        local over, at = t.used + more - limit, 1
        if over <= 0 then return 0 end
        while true do
          local age, count = bucket(at)
          over = over - count
          if over <= 0 then return lasts - age end
          at = at + 6
        end
      end

      t.charge = function(more)
        if more > 0 then add(more < limit and more or limit) end
        sum()
        local over = t.used - limit
        while over > 0 do
          local age, count = bucket(1)
          if count > over then put(1, age, count - over) else entries = sub(entries, 7) end
          over = over - count
        end
        sum()
        return entries
      end
    else
      -- Fixed windows and buckets: a moment and a count, 0 and 0 where there is nothing.
      local at, count, opens, most, waits = 0, 0, now, 65535, period
      t.shape = algorithm < 4 and algorithm - 1 or 4
      if shape == t.shape then
        local a1, a2, a3, a4, a5, a6, c1, c2 = byte(stored, 1, 8)
        at, count = ((((a1 * 256 + a2) * 256 + a3) * 256 + a4) * 256 + a5) * 256 + a6, c1 * 256 + c2
      end
      if algorithm == 3 then
        opens, waits = unit_end(period), 0
      elseif algorithm > 4 then
        most = limit
        if count > limit then count = limit end
      end
      if count > 0 and at > opens then at, t.changed = opens, true end
      if algorithm > 4 then
        local out = (now - at - (now - at) % period) / period
        if count == 0 or out >= count then count = 0 else at, count = at + out * period, count - out end
      elseif at + waits <= now then
        count = 0
      end

      local function tell()
        if count == 0 then at, t.keep = 0, 0 else t.keep = at + (algorithm > 4 and count * period or waits) - now end
        t.used = count
      end

      t.wait = function(more)
        if count + more <= limit then return 0 end
        return at + (algorithm > 4 and (count + more - limit) * period or waits) - now
      end

      t.charge = function(more)
        if count == 0 then at = opens end
        count = count + more
        if count > most then count = most end
        tell()
        local l = at % 4294967296
        local h = (at - l) / 4294967296
        local l4, l3 = l % 256, (l - l % 256) / 256 % 256
        local l12 = (l - l % 65536) / 65536
        return char((h - h % 256) / 256, h % 256, (l12 - l12 % 256) / 256, l12 % 256, l3, l4, (count - count % 256) / 256, count % 256)
      end
      tell()
    end
    return t
  end
end

-- The limit of the whole group; a damaged one is 100 per 30 s.
local all, all_wait, all_delay, all_valid, all_limit, all_period, all_refuses, charge_all = nil, 0, 0, true, 0, 0, false, nil
if whole then
  local packed = origin < 3 and try('HGET', KEYS[origin], 'group_program')
  local kind, bits, buckets = 1, 0, 1
  all_limit, all_period = 100, 30000
  if type(packed) == 'string' and #packed == 10 then
    local k, f, c1, c2, p1, p2, p3, p4, b1, b2 = byte(packed, 1, 10)
    if k > 0 and k < 8 and c1 + c2 > 0 then
      kind, bits, all_limit, buckets = k, f, c1 * 256 + c2, b1 * 256 + b2
      all_period = ((p1 * 256 + p2) * 256 + p3) * 256 + p4
    end
  end
  if all_limit > 10000 then all_limit = 10000 end
  if all_period == 0 then all_period = 30000 end
  if kind > 1 and all_period > 604800000 then all_period = 604800000 end
  if buckets > 1000 then buckets = 1000 elseif buckets == 0 then buckets = 1 end
  all_refuses = bits % 8 >= 4

  local key = KEYS[8] or sub(KEYS[3], 1, find(KEYS[3], '|', (find(KEYS[3], '|', 1, true) or 0) + 1, true)) .. '~group'
  local stored = try('GET', key)
  local there, last, form, mark, from = stored, 0, 0, false, 1
  if type(stored) == 'string' and #stored >= 7 then
    local flag, a1, a2, a3, a4, a5, a6 = byte(stored, 1, 7)
    local low_bits = flag % 16
    local begins = low_bits % 2 == 1 and 20 or 8
    local length = #stored + 1 - begins
    form = (flag - low_bits) / 16
    if length >= 0 and (form == 0 and low_bits < 4 and length % 4 == 0 or low_bits < 2
      and (form == 3 and length % 6 == 0 or length == 8 and (form == 1 or form == 2 or form == 4))) then
      from, mark = begins, low_bits >= 2
      last = ((((a1 * 256 + a2) * 256 + a3) * 256 + a4) * 256 + a5) * 256 + a6
    end
  end
  stored = from > 1 and sub(stored, from) or ''
  if from == 1 then form = 0 end
  local skewed = last > now
  all = count(kind, all_limit, all_period, buckets, form, stored, skewed or mark)
  if skewed then last, all.changed = now, true end
  all_valid = cost >= 0 and cost <= all_limit
  if all_valid then
    all_wait = all.wait(cost > 0 and cost or 1)
    if kind == 7 then all_delay = all.keep end
  end

  -- What passes is the newest; what is refused and counts is marked, for its time may be later than the last that passed.
  charge_all = function(more, passes)
    local body = all.charge(more)
    local flag = all.shape * 16
    if not passes and all.shape == 0 and (all_refuses or form == 0 and mark) then flag = 2 end
    local l = (passes and now or last) % 4294967296
    local h = ((passes and now or last) - l) / 4294967296
    local l12 = (l - l % 65536) / 65536
    local need = (all.keep > 1000 and all.keep or 1000) * 6 + 4999
    call('SET', key, char(flag, (h - h % 256) / 256, h % 256, (l12 - l12 % 256) / 256, l12 % 256, (l - l % 256) / 256 % 256, l % 256)
      .. body, 'EX', (need - need % 5000) / 5000 .. '')
    there = nil
  end
  if there and cost ~= 0 and try('TTL', key) == -1 then
    local need = (all.keep > 1000 and all.keep or 1000) * 6 + 4999
    call('EXPIRE', key, (need - need % 5000) / 5000 .. '')
  end
end

if exempted then
  if muted > 0 and cause == 109 then return {12, muted, 0, 0, strikes, 0, version} end
  if charge_all and cost > 0 then charge_all(cost, true) end
  return {1, 0, 0, 0, strikes, 0, version}
end

-- The state in every shape that it may have.
local ban_start, ban_end, refused, shape = 0, 0, false, 0
if not plain then
  last, log = 0, 1
  if size >= 7 then
    local kind, a1, a2, a3, a4, a5, a6
    kind, a1, a2, a3, a4, a5, a6, a, b, c, d = byte(state, 1, 11)
    if kind == 0 then
      if size % 4 == 3 then log = 8 end
    else
      local bits = kind % 16
      local head = bits % 2 == 1 and 20 or 8
      local rest = size + 1 - head
      shape = (kind - bits) / 16
      if rest >= 0 and (shape == 0 and bits < 4 and rest % 4 == 0 or bits < 2
        and (shape == 3 and rest % 6 == 0 or rest == 8 and (shape == 1 or shape == 2 or shape == 4))) then
        refused, log = bits >= 2, head
        if head == 20 then
          local s1, s2, s3, s4, s5, s6, e1, e2, e3, e4, e5, e6
          s1, s2, s3, s4, s5, s6, e1, e2, e3, e4, e5, e6, a, b, c, d = byte(state, 8, 23)
          ban_start = ((((s1 * 256 + s2) * 256 + s3) * 256 + s4) * 256 + s5) * 256 + s6
          ban_end = ((((e1 * 256 + e2) * 256 + e3) * 256 + e4) * 256 + e5) * 256 + e6
        end
      end
    end
    if log > 1 then last = ((((a1 * 256 + a2) * 256 + a3) * 256 + a4) * 256 + a5) * 256 + a6 end
  end
  if log == 1 then state, size, shape = '', 0, 0 end
end

-- The limits. Times later than now come from a clock that stepped back and count as now, so that no wait exceeds the
-- interval or the period. Log entries of an age of 3.2e9 ms or more (of 2^32) are such times; they are the newest.
local changed, delay = false, 0
local mine -- the count of other algorithms than the sliding window
local valid = cost >= 0
local asked = cost > 0 and cost or 1
if enabled then
  if last > now then last, changed = now, true end
  if last > 0 and last + interval > now then interval_wait = last + interval - now end
  if limit > 0 and algorithm > 1 then
    if period > 604800000 then period = 604800000 end
    local buckets = 1
    if algorithm == 4 then
      local b1, b2 = byte(program, 26, 27)
      buckets = b1 * 256 + b2
      if buckets > 1000 then buckets = 1000 elseif buckets == 0 then buckets = 1 end
    end
    mine = count(algorithm, limit, period, buckets, shape, sub(state, log), false)
    shape, refused, used = mine.shape, false, mine.used
    changed = changed or mine.changed
    if cost > limit then
      valid = false
    elseif valid then
      window_wait = mine.wait(asked)
      if algorithm == 7 then delay = mine.keep end
    end
  elseif limit > 0 then
    if shape > 0 then state, size, shape = sub(state, 1, log - 1), log - 1, 0 end
    if changed or refused then -- else the newest entry is `last`
      local at, e, f, g, h = size - 3, nil, nil, nil, nil
      while at >= log do
        e, f, g, h = byte(state, at, at + 3)
        if (low - (((e * 256 + f) * 256 + g) * 256 + h)) % 4294967296 < 3200000000 then break end
        at = at - 4
      end
      at = at + 4
      if at <= size then
        state, changed = sub(state, 1, at - 1) .. entry:rep((size - at + 1) / 4), true
        a, b, c, d = byte(state, log, log + 3)
      end
    end
    while log <= size do
      if (low - (((a * 256 + b) * 256 + c) * 256 + d)) % 4294967296 < period then break end
      log = log + 4
      a, b, c, d = byte(state, log, log + 3)
    end
    used = (size - log + 1) / 4
    if cost > limit then
      valid = false
    elseif used + asked > limit then
      a, b, c, d = byte(state, log + (used + asked - limit - 1) * 4, log + (used + asked - limit) * 4 - 1)
      window_wait = period - (low - (((a * 256 + b) * 256 + c) * 256 + d)) % 4294967296
    end
  else
    shape, refused = 0, false
  end
elseif algorithm > 1 and period > 604800000 then
  period = 604800000
end

-- Holds: the mute and the ban. A named exemption sets aside all but a moderator's mute; it is looked up only where the
-- attempt would not simply pass.
local passes = enabled and valid and interval_wait == 0 and window_wait == 0 and all_valid and all_wait == 0
if all_delay > delay then delay = all_delay end
local free = passes and delay == 0
local named, code, wait = false, 0, 0
local home, group -- what the keys of the group begin and end with, where they are built here
if not free or muted > 0 or ban_end > now then
  local key, exempt_key = KEYS[4], KEYS[5]
  local bar = find(key, '|', 1, true) or 0
  if not user or user == '' then user = sub(key, bar + 1) end
  if not exempt_key then
    local tag = find(key, '}', 1, true)
    home, group = sub(key, 1, tag + 1), sub(key, tag + 9, bar - 1)
    exempt_key = home .. 'exempt:' .. group
  end
  local score = try('ZSCORE', exempt_key, user)
  if type(score) == 'string' then
    named = score == 'inf' or score == '+inf' or (tonumber(score) or 0) > now
  end
  if muted > 0 and (not named or cause == 109) then
    code, wait = 12, muted
    if cause == 118 then code = 15 elseif cause == 120 then code = 14 end
  end
  if not named and ban_end - now > wait then code, wait = 13, ban_end - now end
end

-- How long the state must be remembered.
local need = interval > 1000 and interval or 1000
if mine then
  if mine.keep > need then need = mine.keep end
elseif limit > 0 and period > need then
  need = period
end

-- Accepted. The time to live becomes text here, by hand where it is short: Redis writes a number as a fraction, which is a
-- twentieth of the whole call.
if passes and wait == 0 and (delay == 0 or not named) then
  if cost > 0 then
    local kept, added = '', ''
    if mine then
      kept = mine.charge(cost)
      used = mine.used
      if mine.keep > need then need = mine.keep end
    elseif limit > 0 then
      kept, added = sub(state, log), cost == 1 and entry or entry:rep(cost)
      used = used + cost
    end
    if ban_start > 0 and (ban_end == 0 or ban_end > now) then -- lifted, or set aside by an exemption
      kept = sub(state, 8, 19) .. kept
      if ban_end - now > need then need = ban_end - now end
      state = char(shape * 16 + 1, (high - high % 256) / 256, high % 256) .. entry .. kept .. added
    else
      state = char(shape * 16, (high - high % 256) / 256, high % 256, (rest - n2) / 256, n2, n3, n4) .. kept .. added
    end
    need = need * 6 + 4999
    need = (need - need % 5000) / 5000
    if need >= 10 and need < 100 then need = char(48 + (need - need % 10) / 10, 48 + need % 10) else need = need .. '' end
    call('SET', KEYS[3], state, 'EX', need)
  end
  if charge_all and cost > 0 then charge_all(cost, true) end
  if delay > 0 or all then
    used = limit - used
    if all and (limit == 0 or all_limit - all.used < used) then limit, used = all_limit, all_limit - all.used end
    return {delay > 0 and 3 or 0, delay, used, limit, strikes, 0, version}
  end
  return {0, 0, limit - used, limit, strikes, 0, version}
end

-- All the rest has one way out, at the end. It leaves the state's time to live alone, unless it has none.
local soft, count_refused, step, write = flags % 4 >= 2, flags % 8 >= 4, 0, false
if not enabled then limit = 0 end
repeat
  if wait > 0 then
    if not named and not soft and valid and all_valid then
      if interval_wait > wait then wait = interval_wait end
      if window_wait > wait then wait = window_wait end
      if all_wait > wait then wait = all_wait end
    end
    break
  end
  if not enabled then break end
  if not valid or not all_valid then
    code, wait = 11, valid and all_period or limit > 0 and period or 1
    break
  end
  if named then
    code = 1
    if charge_all and cost > 0 then charge_all(cost, true) end
    break
  end

  -- Refused by a limit. The log is written where refused attempts count, or where a time was repaired.
  -- The group's limit alone is no violation of the member's.
  local by_window, entries = window_wait > 0, ''
  local by_member = by_window or interval_wait > 0
  write = cost > 0 and (count_refused or changed)
  if mine then
    if write then
      entries = mine.charge(count_refused and cost or 0)
      window_wait, used = mine.wait(cost), mine.used
      if mine.keep > need then need = mine.keep end
    end
  elseif write and limit > 0 then
    entries = sub(state, log)
    if count_refused then entries = entries .. entry:rep(cost) end
    if #entries > limit * 4 then entries = sub(entries, -limit * 4) end
    used, window_wait = #entries / 4, 0
    if used + cost > limit then
      a, b, c, d = byte(entries, (used + cost - limit - 1) * 4 + 1, (used + cost - limit) * 4)
      window_wait = period - (low - (((a * 256 + b) * 256 + c) * 256 + d)) % 4294967296
    end
  end
  if charge_all and cost > 0 and (all_refuses or all.changed) then
    charge_all(all_refuses and cost or 0, false)
    all_wait = all.wait(cost)
  end
  if all_wait > window_wait then window_wait = all_wait end
  wait = window_wait > interval_wait and window_wait or interval_wait
  code = soft and 2 or (by_window or not by_member or all_wait > 0) and window_wait >= interval_wait and 11 or 10
  if cost == 0 then break end

  -- The ban.
  local banned = false
  if by_window and not soft then
    local f1, f2, f3, f4 = byte(program, 18, 21)
    local ban_for = ((f1 * 256 + f2) * 256 + f3) * 256 + f4
    if flags % 32 >= 16 then ban_for = unit_end(86400000) - now end
    if ban_for > 0 then
      if mine then
        entries = mine.charge(0)
      elseif limit > 0 then
        if not write then entries = sub(state, log) end
        if #entries > limit * 4 then entries = sub(entries, -limit * 4) end
      end
      banned, ban_start, ban_end, write = true, now > ban_start and now or ban_start + 1, now + ban_for, true -- a start never recurs
      if ban_for > wait then wait = ban_for end
    end
  end

  -- The strike, and the step it leads to; none within a second of the last counted one.
  local gap = now - last_strike
  local struck = by_member and speech and not soft and not (last_strike > 0 and gap < 1000 and gap > -1000)
  if struck then
    strikes = strikes < 255 and strikes + 1 or 255
    last_strike = now
    local ladder = algorithm == 4 and 28 or 26
    for at = ladder, #program, 6 do
      if byte(program, at) <= strikes then step = (at - ladder) / 6 + 1 end
    end
    if step > 0 then
      local penalty, f1, f2, f3, f4 = byte(program, ladder + step * 6 - 5, ladder + step * 6 - 1)
      local hold = ((f1 * 256 + f2) * 256 + f3) * 256 + f4
      if cause == 45 then mute_end = 0 end
      cause = 108
      if penalty == 114 then
        hold, cause = 604800000, 118
      elseif penalty == 120 then
        hold, cause = 86400000, 120
      end
      mute_start, mute_step = now > mute_start and now or mute_start + 1, step
      if now + hold > mute_end then mute_end = now + hold end
      if mute_end - now > wait then wait = mute_end - now end
    end
    if now > held_until then held_until = now end
    if cause ~= 45 and mute_end > held_until then held_until = mute_end end
  end
  if banned and speech and ban_end > held_until then held_until = ban_end end
  if not write and not struck then break end

  -- The writes. The first is a plain call: out of memory must be an error, not a free pass.
  local stamp = char((high - high % 256) / 256, high % 256) .. entry -- now
  local six
  if write or step > 0 or held_until ~= now then
    six = function(n)
      local l = n % 4294967296
      local h = (n - l) / 4294967296
      local ll = l % 65536
      local lh = (l - ll) / 65536
      return char((h - h % 256) / 256, h % 256, (lh - lh % 256) / 256, lh % 256, (ll - ll % 256) / 256, ll % 256)
    end
  end
  if write then
    local kind, ban = shape * 16, ''
    if shape == 0 and (refused or count_refused) then kind = 2 end
    if banned or (ban_end == 0 and ban_start > 0) then kind, ban = kind + 1, six(ban_start) .. six(ban_end) end
    if ban_end - now > need then need = ban_end - now end
    need = need * 6 + 4999
    call('SET', KEYS[3], char(kind) .. six(last) .. ban .. entries, 'EX', (need - need % 5000) / 5000 .. '')
  end
  if struck or (banned and speech) then
    if not forgive then
      local f1, f2, f3, f4 = byte(program, 22, 25)
      forgive = ((f1 * 256 + f2) * 256 + f3) * 256 + f4
      if forgive == 0 then forgive = 600000 end
    end
    rest = held_until + strikes * forgive - now
    if rest < 1000 then rest = 1000 end
    if cause == 45 then
      if rest < 60000 then rest = 60000 end
    elseif mute_end - now > rest then
      rest = mute_end - now
    end
    rest = (rest * 6 + 4999 - (rest * 6 + 4999) % 5000) / 5000
    local ones, tens = rest % 10, rest % 100
    if rest >= 1000 and rest < 10000 then
      local hundreds = rest % 1000
      rest = char(48 + (rest - hundreds) / 1000, 48 + (hundreds - tens) / 100, 48 + (tens - ones) / 10, 48 + ones)
    elseif rest >= 100 and rest < 1000 then
      rest = char(48 + (rest - tens) / 100, 48 + (tens - ones) / 10, 48 + ones)
    else
      rest = rest .. ''
    end
    local mute = known and sub(record, 15) or '\0\0\0\0\0\0\0\0\0\0\0\0\48\0'
    if step > 0 then mute = six(mute_start) .. six(mute_end) .. char(cause, mute_step) end
    call('SET', KEYS[4], char(1, strikes) .. (struck and stamp or six(last_strike)) .. (six and six(held_until) or stamp) .. mute,
      'EX', rest)
  end
  if step > 0 then
    local muted_key = home and home .. 'muted:' .. group or KEYS[6]
    try('ZREMRANGEBYSCORE', muted_key, '-inf', now)
    local added = try('ZADD', muted_key, mute_end, user)
    if type(added) == 'table' then
      call('DEL', muted_key)
      call('ZADD', muted_key, mute_end, user)
    end
    local latest = call('ZRANGE', muted_key, -1, -1, 'WITHSCORES')
    rest = (latest[2] - now) * 6 + 4999
    call('EXPIRE', muted_key, (rest - rest % 5000) / 5000 .. '')
  end
  if struck or banned then
    local at = now
    if time then -- its digits are text already
      local ms = now % 1000
      local tens, ones = ms % 100, ms % 10
      at = time[1] .. char(48 + (ms - tens) / 100, 48 + (tens - ones) / 10, 48 + ones)
    end
    local text = at .. (code == 10 and ' 10 ' or ' 11 ') .. (strikes < 10 and char(48 + strikes) or strikes)
      .. (step > 0 and ' ' .. step .. ' ' .. char(cause) .. ' ' .. mute_start .. ' ' .. mute_end or ' 0 0 0 0')
      .. (banned and ' ' .. ban_start .. ' ' .. ban_end or ' 0 0')
    local events_key = home and home .. 'events' or KEYS[7]
    local added
    if now % 16 > 0 then
      added = try('XADD', events_key, '*', 'k', KEYS[3], 'v', text)
    else
      added = try('XADD', events_key, 'MAXLEN', '~', '10000', '*', 'k', KEYS[3], 'v', text)
    end
    if type(added) == 'table' then
      call('DEL', events_key)
      call('XADD', events_key, '*', 'k', KEYS[3], 'v', text)
    end
  end
until true

if exists and not write and cost ~= 0 and try('TTL', KEYS[3]) == -1 then
  if ban_end - now > need then need = ban_end - now end
  need = need * 6 + 4999
  call('EXPIRE', KEYS[3], (need - need % 5000) / 5000 .. '')
end
local remaining = enabled and limit > used and limit - used or 0
if all then
  local left = all_limit > all.used and all_limit - all.used or 0
  if limit == 0 or left < remaining then remaining, limit = left, all_limit end
end
return {code, wait, remaining, limit, strikes, step, version}
