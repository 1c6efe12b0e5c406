/** KEYS: the marker. ARGV: what it says while the caller's turn stands, what it is to say. Answers 1 where it did. */
export const RECOUNTED = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`;
