-- Token bucket, the same algorithm as in quota.ts.
--
-- KEYS: the bucket. ARGV: cost, tokens per second, burst, now. Returns `{1 if allowed, tokens left}`.
local bucket = KEYS[1]
local cost, rate, burst, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens, at = burst, now
local stored = redis.call('GET', bucket)
if stored then
  local left, since = struct.unpack('<dd', stored)
  at = math.max(now, since)
  tokens = math.min(burst, left + (at - since) * rate / 1000)
end
local allowed = tokens >= math.min(cost, burst)
if allowed then tokens = tokens - cost end
local ttl = math.ceil((burst - tokens) * 1000 / rate) + 1000
redis.call('SET', bucket, struct.pack('<dd', tokens, at), 'PX', string.format('%.0f', ttl))
return {allowed and 1 or 0, string.format('%.17g', tokens)}
