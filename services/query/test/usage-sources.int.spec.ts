import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anEventRow } from './rows.ts';

let api: OperatorApi;

const call = (id: string, fields: object) =>
  api.insert('events', anEventRow({ event_id: id, kind: 'llm.completed', cost_source: 'unpriced', ...fields }));
const traced = (scope: string, scopeVersion: string) => ({
  dialect: 'otlp',
  metadata: { otlp: { scope, scopeVersion } },
});

beforeAll(async () => {
  api = await startOperatorApi();
  for (const id of ['e1', 'e2']) await call(id, traced('openinference.instrumentation.dspy', '0.1.9'));
  await call('e3', { ...traced('opentelemetry.util.genai.handler', '0.4b0'), input_tokens: 5, output_tokens: 1 });
  await call('e4', { metadata: { framework: 'langchain', framework_version: '1.0' }, input_tokens: 5 });
  await call('e5', { input_tokens: 5 });
  await call('e6', { ...traced('failed', '1'), is_error: true });
  await call('e7', { ...traced('of another tenant', '1'), tenant_id: 'globex' });
});
afterAll(() => api.close());

describe('the sources of usage', () => {
  it('are the libraries that reported calls, with what they are known not to report', async () => {
    expect((await api.get('/api/usage/sources')).body).toEqual({
      sources: [
        {
          ...{ name: 'openinference.instrumentation.dspy', version: '0.1.9', calls: 2, withoutTokens: 2 },
          gaps: ['does not report tokens; instrument the client of the model instead'],
        },
        { name: 'langchain', version: '1.0', calls: 1, withoutTokens: 0, gaps: [] },
        {
          ...{ name: 'opentelemetry.util.genai.handler', version: '0.4b0', calls: 1, withoutTokens: 0 },
          gaps: ['does not report cached tokens, so costs are too high where prompts are cached'],
        },
      ],
    });
  });
});
