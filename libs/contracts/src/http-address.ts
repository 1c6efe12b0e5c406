import { z } from 'zod';

/** An address of the tenant's choosing. Whether it may be called is the egress guard's decision, not the form's. */
export const HttpAddress = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text);
    return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.hostname !== '';
  }, 'must be an http or https address, like "https://example.com/hook"');
