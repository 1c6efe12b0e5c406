import { z } from 'zod';
import { Instant } from './ids.ts';

/** A complete message that a consumer group gave up on, with the reason. It can be inspected and replayed. */
export const DeadLetter = z.object({
  group: z.string(),
  topic: z.string(),
  subject: z.string(),
  messageId: z.string(),
  reason: z.string(),
  attempts: z.int().min(1),
  failedAt: Instant,
  /** The original body, base64. */
  body: z.string(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;
