import { describe, expect, it } from '@jest/globals';
import { describeOrigin } from './usage-origin.ts';

const OTLP = { dialect: 'otlp', metadata: { otlp: { scope: 'openlit', scopeVersion: '1.45.0' } } };
const COUNTED = { inputTokens: 10, outputTokens: 5, costSource: 'priced' } as const;

describe('where the figures of a call come from', () => {
  it.each([
    [
      'an instrumentation',
      OTLP,
      COUNTED,
      { counts: 'instrumentation', cost: 'computed', reportedBy: 'openlit 1.45.0' },
    ],
    ["the provider's own usage", OTLP, { ...COUNTED, countsFrom: 'provider' }, { counts: 'provider' }],
    ['other counts', OTLP, { ...COUNTED, countsFrom: 'computed' }, { counts: 'computed' }],
    ['an estimate', OTLP, { ...COUNTED, approximation: 'dated_model' }, { cost: 'estimated' }],
    ['nobody', OTLP, { costSource: 'unpriced' }, { counts: 'unknown', cost: 'unknown' }],
    [
      'an adapter of the JavaScript SDK',
      { dialect: 'handlebar', metadata: {} },
      { ...COUNTED, reportedBy: '@agentlens/langchain 1.0.0' },
      { counts: 'adapter', reportedBy: '@agentlens/langchain 1.0.0' },
    ],
    [
      'an adapter of the Python package',
      { dialect: 'agentlens', metadata: { framework: 'langchain', framework_version: '1.5.2' } },
      COUNTED,
      { counts: 'adapter', reportedBy: 'langchain 1.5.2' },
    ],
    [
      'the agent',
      { dialect: 'agentlens', metadata: {} },
      { ...COUNTED, costSource: 'reported' },
      { counts: 'client', cost: 'reported' },
    ],
  ] as const)('is shown for %s', (_, event, usage, origin) => {
    expect(describeOrigin({ ...event, usage })).toMatchObject(origin);
  });

  it('is not shown for events that spend nothing', () => {
    expect(describeOrigin({ ...OTLP, usage: { latencyMs: 3 } })).toBeUndefined();
  });
});
