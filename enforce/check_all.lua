-- Decides one attempt by the limits of several subjects, in one atomic call: nothing is charged to any of them where
-- another refuses. For one server; check_all.go asks in steps where the subjects lie in several slots. The text is put
-- behind that of check.lua, which stands in function check(KEYS, ARGV).
--
-- KEYS  KEYS 1 to 4 of check.lua for each subject; the group's come first
-- ARGV  1 cost   attempts asked for, a decimal integer of at least 1
--       2 peek   1 = answer, change nothing
--       3 group  1 = the first subject is a member of a group, which the defaults limit where no policy does
--       4 now    ms since the epoch, for tests; empty = the clock of Redis
--       then for each subject: user, roles, and 1 where what cannot be read refuses (on_failure), as the client knows it
-- Result  for each subject: how, and the reply of check.lua. how: 0 it was peeked at, 1 charged (or refused for real),
--         2 the scope does not limit the action, 3 its policy cannot be read; there is no reply of 2 and 3, but a 0
-- Errors  as check.lua
-- Cost    a call of check.lua for the group, two and an HGET for each scope that limits the action, an HGET for one that does not

local n, amount, peek, first = #KEYS / 4, tonumber(ARGV[1]), ARGV[2] == '1', ARGV[3] == '1' and 2 or 1
local how, replies, programs = {}, {}, {}

local function ask(i, cost)
  local k, a = 4 * i, 3 * i
  replies[i] = check({KEYS[k - 3], KEYS[k - 2], KEYS[k - 1], KEYS[k]}, {ARGV[a + 2], ARGV[a + 3], cost, ARGV[4]})
  how[i] = cost == '0' and 0 or 1
end

-- code, remaining and limit of a reply, be it packed or a table
local function read(reply)
  if type(reply) == 'table' then return reply[1], reply[3], reply[4] end
  local code, _, _, _, _, r1, r2, l1, l2 = string.byte(reply, 1, 9)
  return code, r1 * 256 + r2, l1 * 256 + l2
end

-- whether the attempt does not pass, as far as a peek can tell: it knows of the first of several
local function refuses(i)
  local code, remaining, limit = read(replies[i])
  return code > 4 or how[i] == 0 and code ~= 2 and limit > 0 and remaining < amount
end

-- whether the refusal of a peek is all that there is to know: an attempt would be refused likewise, without a trace
local function certain(i)
  local flags = string.byte(programs[i], 2)
  return amount == 1 and read(replies[i]) > 4 and flags % 8 < 4 and flags % 32 < 16 and string.sub(programs[i], 18, 21) == '\0\0\0\0'
end

-- 2 where the hash has no program, 3 where it has one that check.lua would not take
local function without(i)
  local program = redis.pcall('HGET', KEYS[4 * i - 3], 'program')
  if not program then return 2 end
  if type(program) ~= 'string' or #program < 25 or #program > 63 then return 3 end
  local algorithm = string.byte(program)
  if algorithm < 1 or algorithm > 7 or #program % 6 ~= (algorithm == 4 and 3 or 1) then return 3 end
  programs[i] = program
end

local refused = false
for i = first, n do
  how[i], replies[i] = without(i), 0
  if not how[i] then
    ask(i, '0')
    if not peek and refuses(i) then
      if not certain(i) then ask(i, ARGV[1]) end
      refused = refused or refuses(i)
    end
  elseif how[i] == 3 and ARGV[3 * i + 4] == '1' then
    refused = true
  end
end
if first == 2 then
  ask(1, (peek or refused) and '0' or ARGV[1])
  refused = refused or refuses(1)
end
for i = first, n do
  if not peek and not refused and how[i] == 0 then ask(i, ARGV[1]) end
end
local result = {}
for i = 1, n do
  result[2 * i - 1], result[2 * i] = how[i], replies[i]
end
return result
