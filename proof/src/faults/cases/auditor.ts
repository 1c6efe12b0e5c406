import { until } from '../../bench/poll.ts';
import { audited, differencesOf } from '../audit.ts';
import { equal } from '../check.ts';
import type { Fault } from '../fault.ts';
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
