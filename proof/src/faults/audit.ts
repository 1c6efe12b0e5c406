import { request } from 'undici';
import { until } from '../bench/poll.ts';
import type { Site } from './site.ts';

export interface Differences {
  readonly notStored: number;
  readonly notEvaluated: number;
  readonly messagesLost: number;
}

/** A minute of arrival, a minute of grace, the auditor's turn, and the same again for a busy machine. */
const JUDGED_WITHIN_MS = 240_000;
/** A replica reports the findings of another one after its own next turn. */
const SHOWN_AFTER_MS = 11_000;

/** What the auditor reports on `/metrics` of run-tracking, the worst of its replicas. */
export async function differencesOf({ stack }: Site): Promise<Differences> {
  const texts = await Promise.all(
    stack.services
      .filter(({ name }) => name.startsWith('run-tracking'))
      .map(async ({ url }) => (await request(`${url}/metrics`)).body.text()),
  );
  const greatest = (pattern: RegExp) => Math.max(0, ...texts.map((text) => Number(pattern.exec(text)?.[1] ?? 0)));
  return {
    notStored: greatest(/^agentlens_audit_difference\{[^}]*kind="not_stored"[^}]*\} (\d+)/m),
    notEvaluated: greatest(/^agentlens_audit_difference\{[^}]*kind="not_evaluated"[^}]*\} (\d+)/m),
    messagesLost: greatest(/^agentlens_audit_messages_lost_total(?:\{[^}]*\})? (\d+)/m),
  };
}

/** Waits until the auditor has judged at least this many accepted events, has none left, and reports it. */
export async function audited(site: Site, events: number): Promise<void> {
  await until(
    'the auditor to judge what was accepted',
    async () => {
      const { rows } = await site.pool.query<{ done: boolean }>(
        `select coalesce(sum(accepted), 0) >= $1 and coalesce(bool_and(state <> 'open'), false) as done from audit_minutes`,
        [events],
      );
      return rows[0]?.done === true ? true : undefined;
    },
    JUDGED_WITHIN_MS,
  );
  await new Promise((resolve) => setTimeout(resolve, SHOWN_AFTER_MS));
}
