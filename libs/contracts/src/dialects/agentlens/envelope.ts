import { z } from 'zod';
import { JsonObject, SEVERITIES } from '../../events.ts';
import { ClientId } from '../../ids.ts';

const RFC3339 = z.iso.datetime({ offset: true });

/** Python's logging calls it "warning"; so do the plugins. */
const severity = z.preprocess(
  (value) => (value === 'warning' ? 'warn' : (value ?? 'info')),
  z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`),
);

/** Any RFC 3339 instant, brought to UTC with milliseconds; finer digits are cut off. */
const timestamp = z
  .string('must be a text')
  .refine((text) => RFC3339.safeParse(text).success, {
    message: 'must be an RFC 3339 time with an offset, such as 2026-03-01T12:00:00.000Z or 2026-03-01T13:00:00+01:00',
    abort: true,
  })
  .transform((text) => new Date(text).toISOString());

/** An event as a client sends it, without what depends on its type. Other members at this level are dropped. */
export const Envelope = z.object({
  id: ClientId.nullish(),
  sessionId: ClientId,
  agentId: ClientId,
  severity,
  payload: JsonObject.nullish().transform((value) => value ?? {}),
  metadata: JsonObject.nullish().transform((value) => value ?? {}),
  timestamp: timestamp.nullish(),
  tags: z.array(z.string().max(256)).max(100).nullish(),
});
export type Envelope = z.infer<typeof Envelope>;
