import { setTimeout } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import type { Stage } from './stage.ts';

/** Posts to the gateway. Sends again what was held back with 429, as clients do. @throws if it is rejected otherwise */
export async function postPatiently(
  { stack }: Stage,
  path: string,
  body: object,
  dispatcher?: Dispatcher,
): Promise<void> {
  const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(body), ...(dispatcher && { dispatcher }) } as const;
  for (;;) {
    const answer = await request(`${stack.ingestUrl}${path}`, sent);
    const text = await answer.body.text();
    if (answer.statusCode < 300) return;
    if (answer.statusCode !== 429) throw new Error(`${path} answered ${answer.statusCode}: ${text}`);
    await setTimeout(Number(answer.headers['retry-after'] ?? 1) * 1_000);
  }
}
