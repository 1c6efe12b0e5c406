import { z } from 'zod';

/** An address chosen by the tenant. This checks only the format; the egress guard decides whether it may be called. */
export const HttpAddress = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text);
    return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.hostname !== '';
  }, 'must be an http or https address, like "https://example.com/hook"');
