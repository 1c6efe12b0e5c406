import { type PriceBook, translateAgentLensEvent } from '@agentlens/contracts';
import { validateDraft } from '@agentlens/guardrails';
import { createRule, ingestEvents, OPERATIONS, type Operation } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { openApiDocument } from './openapi-document.ts';

interface Documented {
  readonly paths: Record<string, Record<string, { readonly requestBody: { readonly content: Json } }>>;
}
type Json = Readonly<Record<string, { readonly examples?: object }>>;

const NO_PRICES: PriceBook = { providerOf: () => undefined, quote: () => ({ unpriced: 'unknown_model' }) };

/** The operations that most programs call. */
const COMMON_OPERATIONS = [
  ...['createBudget', 'createKey', 'createOrder', 'createRule', 'createWebhook'],
  ...['evaluateCall', 'ingestEvents', 'setBreakerLimits'],
];

const withExamples = OPERATIONS.filter(({ examples }) => examples !== undefined);
const examplesOf = (op: Operation) => Object.values(op.examples ?? {});
const all = withExamples.flatMap((op) =>
  Object.entries(op.examples ?? {}).map(([name, body]) => [`${name} of ${op.id}`, op, body] as const),
);

describe('an example', () => {
  it.each(all)('%s is accepted', (_name, op, body) => {
    expect(op.body?.safeParse(body)).toMatchObject({ success: true });
  });

  it('exists for the operations that most programs call', () => {
    const ids = withExamples.map(({ id }) => id);
    expect(COMMON_OPERATIONS.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('appears unchanged in the document', () => {
    const { paths } = openApiDocument(OPERATIONS, '1') as unknown as Documented;
    expect(paths['/api/budgets']?.post?.requestBody.content['application/json']?.examples).toMatchObject({
      everyRun: { value: { scope: 'run', period: 'total' } },
    });
  });

  it('of a rule uses valid configs', () => {
    expect(examplesOf(createRule).map(validateDraft)).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it('of events follows the wire format', () => {
    const events = examplesOf(ingestEvents).flatMap((body) => (body as { events: unknown[] }).events);
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) {
      // The gateway rejects events that are too old, so a fixed time in an example would stop working.
      expect(event).not.toHaveProperty('timestamp');
      expect(translateAgentLensEvent(event, NO_PRICES, 0)).toEqual({ ok: true, event: expect.any(Object) });
    }
  });
});
