import { CELLS } from './cells.lua.ts';

/**
 * One batch of one agent, counted once. Keys: inbox, series, cooldowns, sets of seen ids, in this order. Arguments: the
 * question's names, and JSON
 * `[number of cooldowns, inbox ttl, seen ttl, seen, series]` with `seen` = set, event, id, set, event, id, ... and one
 * `[is ring, bucket of now, ttl, shape, values per increment, increments, sums]` per series; an increment is event,
 * bucket, high, low and, above shape 0, time, value, bin; a sum of what cannot have been counted before is
 * `[bucket, count, high, low]` and, above shape 0, min, max, time and value of the newest, bins. Answers `{answer}`, or `{names and answer kept, 1}` for a message that
 * was counted before. The answer is JSON `[totals, duplicates, cooldown holders]`.
 */
export const ADVANCE = `${CELLS}
local kept = redis.call('GET', KEYS[1])
if kept then return {kept, 1} end

local request = cjson.decode(ARGV[2])
local cooldownCount, inboxTtl, seenTtl, seen, series = request[1], request[2], request[3], request[4], request[5]
local seenOffset = 1 + #series + cooldownCount

local repeated, duplicates = {}, {}
for i = 1, #seen, 3 do
  local event = seen[i + 1]
  if redis.call('SADD', KEYS[seenOffset + seen[i]], seen[i + 2]) == 0 and not repeated[event] then
    repeated[event] = true
    duplicates[#duplicates + 1] = number(event)
  end
end
for i = seenOffset + 1, #KEYS do redis.call('PEXPIRE', KEYS[i], seenTtl) end

local function countInto(cell, increments, i, shape)
  addSum(cell, 1, increments[i + 2], increments[i + 3])
  if shape == 0 then return end
  local value = increments[i + 5]
  addSpread(cell, value, value, increments[i + 4], value)
  if shape == 2 then addBins(cell, {[increments[i + 6]] = 1}) end
end

local function sumInto(cell, sum, shape)
  addSum(cell, sum[2], sum[3], sum[4])
  if shape == 0 then return end
  addSpread(cell, sum[5], sum[6], sum[7], sum[8])
  if shape == 2 then addBins(cell, sum[9]) end
end

local function advancePlain(key, spec)
  local ttl, shape, stride, increments, sums = spec[3], spec[4], spec[5], spec[6], spec[7]
  local stored = redis.call('HMGET', key, 'sum', 'b')
  local cell = unpackCell(stored[1], stored[2], shape) or emptyCell()
  local before = encode(cell, shape)
  for i = 1, #increments, stride do
    if not repeated[increments[i]] then countInto(cell, increments, i, shape) end
  end
  for _, sum in ipairs(sums) do sumInto(cell, sum, shape) end
  if cell[1] > 0 then
    redis.call('HSET', key, 'sum', pack(cell, shape))
    if shape == 2 then redis.call('HSET', key, 'b', cmsgpack.pack(cell[8])) end
    redis.call('PEXPIRE', key, ttl)
  end
  return before
end

-- Lets go of the buckets that leave the window when its newest bucket becomes now.
local function forward(key, head, now, running, shape)
  if now - head >= BUCKETS then
    redis.call('DEL', key)
    return {0, 0, 0}
  end
  local slots, bins = {}, {}
  for epoch = head + 1, now do
    slots[#slots + 1] = epoch % BUCKETS
    bins[#bins + 1] = 'b' .. epoch % BUCKETS
  end
  for _, text in ipairs(redis.call('HMGET', key, unpack(slots))) do
    if text then takeSum(running, struct.unpack('<ddd', text)) end
  end
  redis.call('HDEL', key, unpack(slots))
  if shape == 2 then redis.call('HDEL', key, unpack(bins)) end
  return running
end

local function writeBuckets(key, touched, order, shape, fields)
  local slots = {}
  for i, epoch in ipairs(order) do slots[i] = epoch % BUCKETS end
  local cells, bins = redis.call('HMGET', key, unpack(slots)), {}
  if shape == 2 then
    for i, slot in ipairs(slots) do bins[i] = 'b' .. slot end
    bins = redis.call('HMGET', key, unpack(bins))
  end
  for i, epoch in ipairs(order) do
    local cell = touched[epoch]
    local stored = unpackCell(cells[i], bins[i], shape)
    if stored then merge(cell, stored, shape) end
    fields[#fields + 1] = slots[i]
    fields[#fields + 1] = pack(cell, shape)
    if shape == 2 then
      fields[#fields + 1] = 'b' .. slots[i]
      fields[#fields + 1] = cmsgpack.pack(cell[8])
    end
  end
end

local function advanceRing(key, spec)
  local now, ttl, shape, stride, increments, sums = spec[2], spec[3], spec[4], spec[5], spec[6], spec[7]
  local stored = redis.call('HMGET', key, 'head', 'sum')
  local head, running = tonumber(stored[1] or now), unpackCell(stored[2], nil, 0) or {0, 0, 0}
  if now > head then head, running = now, forward(key, head, now, running, shape) end

  local before
  if shape == 0 and head == now then before = encode(running, 0)
  elseif stored[1] then before = encode(gather(key, head, now, shape), shape)
  else before = '[0]' end

  local touched, order = {}, {}
  local function bucketOf(epoch)
    local cell = touched[epoch]
    if not cell then
      cell = emptyCell()
      touched[epoch], order[#order + 1] = cell, epoch
    end
    return cell
  end
  for i = 1, #increments, stride do
    local epoch = increments[i + 1]
    if epoch > head - BUCKETS and not repeated[increments[i]] then
      countInto(bucketOf(epoch), increments, i, shape)
      addSum(running, 1, increments[i + 2], increments[i + 3])
    end
  end
  for _, sum in ipairs(sums) do
    if sum[1] > head - BUCKETS then
      sumInto(bucketOf(sum[1]), sum, shape)
      addSum(running, sum[2], sum[3], sum[4])
    end
  end

  local fields = {'head', string.format('%.0f', head), 'sum', pack(running, 0)}
  if #order > 0 then writeBuckets(key, touched, order, shape, fields) end
  redis.call('HSET', key, unpack(fields))
  redis.call('PEXPIRE', key, ttl)
  return before
end

local totals = {}
for i, spec in ipairs(series) do
  totals[i] = (spec[1] == 1 and advanceRing or advancePlain)(KEYS[1 + i], spec)
end

local cooling = {}
for i = 1, cooldownCount do
  local holder = redis.call('GET', KEYS[1 + #series + i])
  cooling[i] = holder and cjson.encode(holder) or 'null'
end

local answer = '[[' .. table.concat(totals, ',') .. '],[' .. table.concat(duplicates, ',') .. '],['
  .. table.concat(cooling, ',') .. ']]'
redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. answer, 'PX', inboxTtl)
return {answer}
`;
