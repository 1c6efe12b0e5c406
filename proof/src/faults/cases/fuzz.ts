import { until } from '../../harness/time.ts';
import { atLeast, equal } from '../check.ts';
import type { Fault } from '../fault.ts';
import type { DocumentedOperation } from '../openapi/document.ts';
import { type ExampleCatalog, examplesOf, FIRST_EVENTS, FIRST_QUESTIONS, firstRules } from '../openapi/examples.ts';
import { JudgedClient } from '../openapi/judged-client.ts';
import { RequestDraw } from '../openapi/request-draw.ts';
import type { Site } from '../site.ts';

const REQUESTS = 20_000;
const AT_ONCE = 8;
/** Share of requests without the key that may do everything. */
const WEAK = 0.02;
/** Number of rules that the site itself watches. */
const RULES_OF_SITE = 3;
const MADE_WITHIN_MS = 30_000;
/** Actions on pending approvals. Random requests rarely reach one before it is decided. */
const VERBS = ['acknowledge', 'approve', 'deny', 'cancel'] as const;
const DEFECTS_SHOWN = 12;
/** Share of operations that must have succeeded, so that not only errors are judged. */
const SUCCEEDED = 0.9;
/** Random requests to these would revoke the key of the test. */
const isOfKeys = ({ path }: DocumentedOperation) => path.startsWith('/api/keys');

interface Alert {
  readonly id: string;
  readonly kind: string;
}

const fuzz: Fault = {
  id: 'F-23',
  title: `${REQUESTS} requests drawn from the OpenAPI document`,
  async run(lab) {
    // Strict: an unhandled rejection ends the process, even if there is a listener for it.
    const site = await lab.freshSite({ nodeOptions: ['--unhandled-rejections=strict'] });
    const client = await JudgedClient.open(site.stack);
    const { operations, judgement, known } = client;
    const weakKey = await createEverything(site, client);
    const catalog = await client.ask<ExampleCatalog>('get /api/guardrails/catalog');
    const draw = new RequestDraw(lab.random, client.document, known, examplesOf(catalog, site.receiver.url('/fuzz')));
    const drawn = operations.filter((operation) => !isOfKeys(operation));
    const keys = [null, 'agk_nonsense', weakKey];
    lab.note(`${operations.length} operations`);
    let sent = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (sent < REQUESTS) {
          sent += 1;
          const operation = oneOf(lab.random, drawn);
          const key = lab.random() < WEAK ? oneOf(lab.random, keys) : site.stack.key;
          await client.send(operation, draw.of(operation), key);
        }
      }),
    );
    const succeeded = judgement.succeededOf(operations);
    lab.note(`answers ${JSON.stringify(judgement.statuses)}`);
    lab.note(`never answered with success: ${succeeded.never.join(', ') || 'none'}`);
    for (const defect of judgement.defects().slice(0, DEFECTS_SHOWN)) lab.note(`wrong: ${defect}`);
    lab.measure('operations whose success was judged', succeeded.count, `of ${operations.length}`);
    lab.check(
      equal('server errors', 0, judgement.serverErrors),
      equal('responses that do not match the document', 0, judgement.nonconforming),
      equal('unexpected process exits, for example after an unhandled rejection', 0, site.unexpectedExits),
      atLeast('operations whose success was judged', Math.ceil(operations.length * SUCCEEDED), succeeded.count),
    );
  },
};

/** Creates an instance of everything that can be read or decided, and keys. @returns a key that may only send events */
async function createEverything(site: Site, client: JudgedClient): Promise<string> {
  const rules = firstRules(site.receiver.url('/fuzz'));
  for (const rule of rules) await client.ask('post /api/guardrails', rule);
  await site.rulesHeld(RULES_OF_SITE + rules.length);
  for (const event of FIRST_EVENTS) await client.ask('post /api/events', { events: [event] });
  for (const question of FIRST_QUESTIONS) await client.ask('post /v1/runs/{runId}/evaluate', question, question.callId);
  const alerts = await listed<Alert>(client, 'get /api/alerts', 'alerts', FIRST_QUESTIONS.length + 1);
  const approvals = alerts.filter(({ kind }) => kind === 'approval');
  for (const [nth, verb] of VERBS.entries()) await client.ask(`post /api/alerts/{id}/${verb}`, {}, approvals[nth]?.id);
  await listed(client, 'get /api/guardrails/deliveries', 'deliveries', 1);
  const { key } = await client.ask<{ readonly key: string }>('post /api/keys', { name: 'weak', scopes: ['ingest'] });
  const { id } = await client.ask<{ readonly id: string }>('post /api/keys', {});
  await client.ask('post /api/keys/{id}/rotate', {}, id);
  await client.ask('delete /api/keys/{id}', undefined, id);
  await client.ask('get /api/keys');
  return key;
}

function listed<T>(client: JudgedClient, name: string, member: string, count: number): Promise<readonly T[]> {
  const enough = async () => {
    const { [member]: items = [] } = await client.ask<Readonly<Record<string, readonly T[]>>>(name);
    return items.length >= count ? items : undefined;
  };
  return until(`${count} ${member}`, enough, MADE_WITHIN_MS);
}

function oneOf<T>(random: () => number, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

export const FUZZ = [fuzz];
