import { z } from 'zod';

/** The client's name for a request: the same again is answered as the first. */
export const IdempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e][\x20-\x7e]{0,254}$/, 'must be 1-255 printable ASCII characters')
    .optional()
    .meta({ description: 'Names the request for 24 hours: sent again under it, it is carried out once.' }),
});
