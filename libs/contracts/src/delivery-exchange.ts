import { z } from 'zod';

/** Maximum of an attempt's request and response body that is stored, in bytes. */
export const MAX_SENT_BODY_BYTES = 16 * 1024;
export const MAX_ANSWERED_BODY_BYTES = 8 * 1024;

const message = (most: number) => ({
  headers: z.record(z.string(), z.string()).meta({ description: 'Values that may be secrets are "[masked]".' }),
  body: z
    .string()
    .nullable()
    .meta({ description: `The first ${most} bytes, redacted. Null if there was no body.` }),
  bodyBytes: z.int().meta({ description: 'Size of the whole body before redaction.' }),
  bodyCut: z.boolean(),
});

/** Request and response of one delivery attempt, redacted for display. */
export const DeliveryExchange = z.object({
  request: z.object({
    method: z.string(),
    origin: z.string().meta({ description: 'Origin of the address; its path may be a secret.' }),
    ...message(MAX_SENT_BODY_BYTES),
  }),
  response: z
    .object({ status: z.int(), ...message(MAX_ANSWERED_BODY_BYTES) })
    .nullable()
    .meta({ description: 'Null if there was no response. At most 64 KiB are read, which `bodyBytes` counts.' }),
});
export type DeliveryExchange = z.infer<typeof DeliveryExchange>;
