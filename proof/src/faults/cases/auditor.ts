import { request } from 'undici';
import { until } from '../../harness/time.ts';
import { equal } from '../check.ts';
import type { Fault } from '../fault.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const HEALED_WITHIN_MS = 90_000;

const auditor: Fault = {
  id: 'F-26',
  title: 'the auditor: silent over kills, and alerting over one deleted row until it is restored',
  async run(lab) {
    const site = await lab.freshSite();
    const { report } = await underLoad(lab, site, {
      load: { eventsPerSecond: 500, seconds: 15, markEvery: 50 },
      faults: async () => {
        for (const name of ['run-tracking', 'guardrail-evaluator', 'ingest'] as const) {
          await lab.sleep(1_500);
          const service = site.stack.service(name);
          await service.kill('SIGKILL');
          lab.note(`SIGKILL ${name}`);
          await service.start();
        }
      },
    });
    const victim = await site.pool.query(`
      with victim as (select tenant_id, occurred_at, event_id from events
        -- The newest: its minute is not judged yet.
        order by received_at desc limit 1)
      delete from events e using victim v
      where e.tenant_id = v.tenant_id and e.occurred_at = v.occurred_at and e.event_id = v.event_id
      returning to_jsonb(e) as row`);
    lab.note('one row deleted');
    await audited(site, report.acceptedEvents);
    const loud = await differencesOf(site);
    lab.check(
      equal('rows missed', 1, loud.notStored),
      equal('events reported as not evaluated', 0, loud.notEvaluated),
      equal('messages reported as lost', 0, loud.messagesLost),
    );
    await site.pool.query('insert into events select * from jsonb_populate_record(null::events, $1)', [
      victim.rows[0]?.row,
    ]);
    lab.note('the row is restored');
    await until(
      'the auditor to find it',
      async () => ((await differencesOf(site)).notStored === 0 ? true : undefined),
      HEALED_WITHIN_MS,
    );
  },
};

export const AUDITOR = [auditor];

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
