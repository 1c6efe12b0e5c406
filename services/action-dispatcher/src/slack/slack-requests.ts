import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** A request that is older or newer than this is refused, so that a recorded one cannot be sent again later. */
const WINDOW_S = 300;

export interface SignedRequest {
  /** Header `x-slack-request-timestamp`. */
  readonly timestamp: string;
  /** Header `x-slack-signature`. */
  readonly signature: string;
  /** The body as it arrived. */
  readonly body: string;
}

/** Checks the signature of a request of Slack: HMAC-SHA256 over `v0:timestamp:body`, compared in constant time. */
export function isFromSlack(
  { timestamp, signature, body }: SignedRequest,
  signingSecret: string,
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > WINDOW_S) return false;
  const expected = Buffer.from(
    `v0=${createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')}`,
  );
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const Click = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({ id: z.string().max(50), team_id: z.string().max(50).optional() }),
  team: z.looseObject({ id: z.string().max(50) }).nullish(),
  response_url: z.string().max(2_000).optional(),
  container: z.looseObject({ message_ts: z.string().max(50).nullish() }).nullish(),
  actions: z
    .array(z.looseObject({ action_id: z.string(), value: z.string().max(500).optional() }))
    .min(1)
    .max(25),
});
export type Click = z.output<typeof Click>;

/** Undefined for what is not a click, such as the closing of a dialog. */
export function readPayload(body: string): Click | undefined {
  try {
    const click = Click.safeParse(JSON.parse(new URLSearchParams(body).get('payload') ?? 'null'));
    return click.success ? click.data : undefined;
  } catch {
    return undefined;
  }
}

/** The alert and the call of a button. Empty if it is not one of ours. */
export function readValue(value = ''): readonly string[] {
  try {
    const read = z.tuple([z.string(), z.string()]).safeParse(JSON.parse(value));
    return read.success ? read.data : [];
  } catch {
    return [];
  }
}
