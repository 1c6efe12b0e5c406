import { z } from 'zod';

/** Of what an attempt sent, and of what it was answered, this much is kept, bytes. */
export const MOST_SENT_BODY = 16 * 1024;
export const MOST_ANSWERED_BODY = 8 * 1024;

const message = (most: number) => ({
  headers: z.record(z.string(), z.string()).meta({ description: 'Values that may be secrets are "[masked]".' }),
  body: z
    .string()
    .nullable()
    .meta({ description: `Redacted, its first ${most} bytes. Null: there was none.` }),
  bodyBytes: z.int().meta({ description: 'Of the whole body, before it was redacted.' }),
  bodyCut: z.boolean(),
});

/** What one attempt of a delivery sent and what came back, as people may see it. */
export const DeliveryExchange = z.object({
  request: z.object({
    method: z.string(),
    origin: z.string().meta({ description: 'Of the address, whose path may be a secret.' }),
    ...message(MOST_SENT_BODY),
  }),
  response: z
    .object({ status: z.int(), ...message(MOST_ANSWERED_BODY) })
    .nullable()
    .meta({ description: 'Null: no answer. Of a long one at most 64 KiB are read, which is what `bodyBytes` counts.' }),
});
export type DeliveryExchange = z.infer<typeof DeliveryExchange>;
