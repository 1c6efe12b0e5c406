import { derivedId } from '@agentlens/contracts';
import { jetstream } from '@nats-io/jetstream';
import { digested } from '../../bench/progress.ts';
import { equal, holds, sameMembers } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import type { Load } from '../load.ts';
import { before, settle } from '../oracle.ts';
import type { Site } from '../site.ts';

/** JSON texts that have broken batch inserts and serializers elsewhere. `deep` is generated because of its size. */
const CORPUS: readonly (readonly [string, string])[] = [
  ['NUL', '"x\\u0000y"'],
  ['lone surrogate', '"cut \\ud83d"'],
  ['nested 20,000 deep', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
  ['nested 200 deep', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`],
  ['1e200000', '1e200000'],
  ['1e400', '1e400'],
  ['-1e308', '-1e308'],
  ['__proto__', '{"__proto__":{"admin":true}}'],
  ['constructor', '{"constructor":{"prototype":{"admin":true}}}'],
  ['many keys', `{${Array.from({ length: 300 }, (_, i) => `"k${i}":1`).join(',')}}`],
  ['long string', `"${'x'.repeat(300_000)}"`],
  ['NUL in a key', '{"a\\u0000b":1}'],
  ['lone surrogate in a key', '{"\\udc00":1}'],
  ['empty key', '{"":1}'],
];
/** Messages that bypass the gateway's validation. */
const RAW: readonly (readonly [string, string])[] = [
  ['no JSON', '{"id": "x", '],
  ['not a batch', '{"hello": "world"}'],
  ['bytes', '\u00ff\u00fe\u0000\u0001'],
  ['empty', ''],
];
const DEADLINE_MS = 60_000;

const poison: Fault = {
  id: 'F-14',
  title: 'poisonous payloads among valid ones, over HTTP and directly into the stream',
  smoke: true,
  async run(lab) {
    const site = await lab.site();
    const was = await before(site);
    const load = site.load(lab.seed, { eventsPerSecond: 1_000, seconds: 10, batchSize: 20 });
    const taken = await overHttp(lab, site, load);
    await intoTheStream(lab, site);
    const groups = await consumers(site);
    const settled = await settle(site, load, was, { deadLetters: RAW.length * groups });
    lab.check(...settled.checks);
    await digested(site.stack, 'the poison', DEADLINE_MS);
    const { rows } = await site.pool.query<{ event_id: string }>('select event_id from events where agent_id = $1', [
      agentOf(load),
    ]);
    lab.check(
      sameMembers(
        'all accepted poison is stored',
        taken,
        rows.map((row) => row.event_id),
      ),
    );
  },
};

/** One poisonous event in a hundred, each accepted or rejected with its own 400. Returns the accepted ids. */
async function overHttp(lab: Lab, site: Site, load: Load): Promise<string[]> {
  const taken: string[] = [];
  const statuses = new Map<number, number>();
  let serverErrors = 0;
  for (let round = 0; round < 7; round++) {
    for (const [index, [name, json]] of CORPUS.entries()) {
      const ids = [0, 1].map((i) => derivedId(Date.now(), load.label, 'poison', round, index, i));
      const good = JSON.stringify(eventOf(load, ids[0] ?? '', { fine: true }));
      const bad = JSON.stringify(eventOf(load, ids[1] ?? '', 'HERE')).replace('"HERE"', json);
      const answer = await site.post(site.stack.ingestUrl, '/api/events?partial=true', `{"events":[${good},${bad}]}`);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status >= 500) {
        serverErrors += 1;
        lab.note(`${name}: answered ${answer.status} ${answer.text.slice(0, 200)}`);
      }
      taken.push(...takenOf(answer, ids));
    }
  }
  lab.note(`poison over HTTP returned ${JSON.stringify([...statuses])}, ${taken.length} events accepted`);
  lab.check(
    equal('server errors', 0, serverErrors),
    holds('valid events next to poison', taken.length > 0, String(taken.length), '> 0'),
  );
  return taken;
}

function takenOf(
  { status, text }: { readonly status: number; readonly text: string },
  ids: readonly string[],
): string[] {
  if (status === 201) return [...ids];
  if (status !== 207) return [];
  const { results } = JSON.parse(text) as { readonly results: readonly { readonly status: number }[] };
  return ids.filter((_, i) => results[i]?.status === 201);
}

const agentOf = (load: Load) => `${load.label}-poison`;

function eventOf(load: Load, id: string, data: unknown): object {
  const agentId = agentOf(load);
  return { id, sessionId: `${agentId}-run`, agentId, eventType: 'custom', payload: { type: 'poison', data: { data } } };
}

async function intoTheStream(lab: Lab, site: Site): Promise<void> {
  const client = jetstream(site.streams.connection);
  for (const [name, body] of RAW) {
    await client.publish('agent.events.07.default', body, { msgID: `poison-${name}-${Date.now()}` });
    lab.note(`into the stream: ${name}`);
  }
}

async function consumers(site: Site): Promise<number> {
  let count = 0;
  for await (const { config } of site.streams.manager.consumers.list('AGENT_EVENTS')) {
    if (config.durable_name !== undefined) count += 1;
  }
  return count;
}

export const POISON = [poison];
