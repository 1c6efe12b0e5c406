/**
 * Token bucket, the steps of token-bucket.ts. Key: the bucket. Arguments: cost, tokens per second, burst, now. Answers
 * `{1 if allowed, tokens left}`.
 */
export const TAKE = `
local cost, rate, burst, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens, at = burst, now
local stored = redis.call('GET', KEYS[1])
if stored then
  local left, since = struct.unpack('<dd', stored)
  at = math.max(now, since)
  tokens = math.min(burst, left + (at - since) * rate / 1000)
end
local allowed = tokens >= math.min(cost, burst)
if allowed then tokens = tokens - cost end
local ttl = math.ceil((burst - tokens) * 1000 / rate) + 1000
redis.call('SET', KEYS[1], struct.pack('<dd', tokens, at), 'PX', string.format('%.0f', ttl))
return {allowed and 1 or 0, string.format('%.17g', tokens)}
`;
