import { describe, expect, it } from '@jest/globals';
import { AgentLens } from './client.ts';
import type { AgentLensOptions } from './options.ts';
import { TestPlatform } from './testing/index.ts';

/** Options as a plain JavaScript program may pass them. */
const asked = (options: object) => new TestPlatform().client(options as Partial<AgentLensOptions>);

describe('invalid options', () => {
  it.each([
    ['apiKey must be a non-empty string, not that text', { apiKey: '' }],
    ['apiKey must be a non-empty string, not undefined', { apiKey: undefined }],
    ['baseUrl must be an http(s) URL, not that text', { baseUrl: 'ftp://x' }],
    ['agent must be an object, not undefined', { agent: undefined }],
    ['agent.slug must be a non-empty string, not ""', { agent: { slug: '' } }],
    ['agent.tags.1 must be a string, not 7', { agent: { slug: 'a', tags: ['b', 7] } }],
    ['tools must be a list, not an object', { tools: { search: {} } }],
    ['tools.0.name must be a non-empty string, not undefined', { tools: [{ title: 'search' }] }],
    ['enforceMode must be enforce, shadow or off, not "on"', { enforceMode: 'on' }],
    ['failMode must be open or closed, not "maybe"', { failMode: 'maybe' }],
    ['failMode must be open or closed, not null', { failMode: null }],
    ['deadlineMs must be a positive number, not 0', { deadlineMs: 0 }],
    ['deadlineMs must be a positive number, not "1000"', { deadlineMs: '1000' }],
    ['breaker must be an object, not true', { breaker: true }],
    ['breaker.maxTokens must be 0 or a positive number, not NaN', { breaker: { maxTokens: Number.NaN } }],
    ['breaker.confidenceWindow must be a whole number from 3 to 50, not 2', { breaker: { confidenceWindow: 2 } }],
    ['rules.compile must be a function, not undefined', { rules: {} }],
    ['control must be stream, poll or off, not "websocket"', { control: 'websocket' }],
    ['control must be stream, poll or off, not false', { control: false }],
    ['heartbeatMs must be 0 or a positive number, not -1', { heartbeatMs: -1 }],
    ['redactMessage must be a function, not true', { redactMessage: true }],
    ['recordContent must be true or false, not "no"', { recordContent: 'no' }],
    ['maxArgumentChars must be a whole number of at least 1, not 0.5', { maxArgumentChars: 0.5 }],
    ['onOversized must be block or allow, not "cut"', { onOversized: 'cut' }],
    ['drainMs must be 0 or a positive number, not Infinity', { drainMs: Number.POSITIVE_INFINITY }],
    ['sink.maxQueue must be a whole number of at least 1, not 0', { sink: { maxQueue: 0 } }],
    ['logger.warn must be a function, not undefined', { logger: {} }],
  ])('are rejected at once: %s', async (message, options) => {
    await expect(asked(options)).rejects.toThrow(new TypeError(`AgentLens.init: ${message}`));
  });

  it.each([
    ['failmode is no option; did you mean failMode?', { failmode: 'closed' }],
    ['breaker.max_tokens is no option; did you mean breaker.maxTokens?', { breaker: { max_tokens: 1 } }],
    ['agent.id is no option; there are slug, name, description, tags', { agent: { slug: 'a', id: 'b' } }],
  ])('are rejected if misspelt: %s', async (message, options) => {
    await expect(asked(options)).rejects.toThrow(new TypeError(`AgentLens.init: ${message}`));
  });

  it('are rejected if missing altogether', async () => {
    const init = (options?: unknown) => AgentLens.init(options as AgentLensOptions);
    await expect(init()).rejects.toThrow(
      new TypeError('AgentLens.init: its argument must be an object, not undefined'),
    );
  });

  it('never reveal the key', async () => {
    await expect(asked({ apiKey: ['als_secret'] })).rejects.toThrow(expect.not.stringContaining('als_secret'));
  });
});

describe('omitted options', () => {
  it('have their defaults, even if present and undefined', async () => {
    const server = new TestPlatform();
    const client = await server.client({
      ...{ failMode: undefined, control: undefined, sink: { maxQueue: undefined } },
      breaker: { maxTokens: undefined, maxIterations: 1 },
    } as unknown as Partial<AgentLensOptions>);
    const run = await client.startRun();
    await run.afterLlm({ content: [], model: { name: 'm' }, usage: { inputTokens: 200_001 } });
    await run.beforeTool('t', {});
    expect(run.breakerState).toMatchObject({ kind: 'open', reason: 'tokens' });
    await run.end();
    expect(client.status.events).toMatchObject({ dropped: 0, waiting: 0 });
  });
});
