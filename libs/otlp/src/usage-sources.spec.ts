import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { RECORDINGS, recordingOf, spansOf } from './recordings.testing.ts';
import { findUsageGaps, isScope, USAGE_SOURCES } from './usage-sources.ts';
import { readCalls, readPage } from './usage-sources.testing.ts';

const root = join(import.meta.dirname, '../../..');

describe('the page of usage sources', () => {
  it('is made from the list and the recordings; write it again with scripts/write-usage-sources.mjs', () => {
    const { now, made } = readPage();
    expect(now).toBe(made);
  });

  it('rests on a spec or a finding for each line', () => {
    expect(USAGE_SOURCES.filter(({ shownBy }) => !existsSync(join(root, shownBy)))).toEqual([]);
  });
});

describe('a recording', () => {
  it.each(RECORDINGS)('says what made it, and is as it was recorded: %s', (agent) => {
    const { agent: name, of, versions, requests, digest } = recordingOf(agent);
    expect(name).toBe(agent);
    expect(of).not.toBe('');
    expect(Object.entries(versions).filter(([, version]) => !/\d+\.\d+/.test(version))).toEqual([]);
    expect(Object.keys(versions).length).toBeGreaterThan(0);
    expect(createHash('sha256').update(JSON.stringify(requests)).digest('hex')).toBe(digest);
  });
});

/** What a recording's own library is known not to report, from nothing but what arrived. */
function gapsOf(agent: string): string[] {
  const scopes = [...new Set(spansOf(recordingOf(agent)).map(({ scope }) => scope.name))];
  const calls = readCalls(agent);
  const withoutTokens = calls.filter(({ usage }) => usage?.inputTokens === undefined).length;
  return scopes
    .filter((scope) => scope !== 'weather')
    .flatMap((scope) => findUsageGaps(scope, { all: calls.length, withoutTokens }));
}

describe('what a library does not report', () => {
  it.each([
    ['openai-v2-latest', ['does not report cached tokens, so costs are too high where prompts are cached']],
    ['openai-v2-2.1', ['does not report cached tokens, so costs are too high where prompts are cached']],
    ['openllmetry-0.40', ['does not report tokens of streams; set stream_options.include_usage']],
    ['ai-sdk-7', []],
    ['pydantic-ai', []],
    ['strands', []],
  ])('is recognized from what arrived of %s', (agent, gaps) => {
    expect(gapsOf(agent)).toEqual(gaps);
  });

  it.each([
    ['openinference.instrumentation.dspy', 3, ['does not report tokens; instrument the client of the model instead']],
    ['openinference.instrumentation.dspy', 0, []],
    ['openinference.instrumentation.smolagents', 0, [expect.stringContaining('cached tokens')]],
    ['@traceloop/instrumentation-openai', 1, [expect.stringContaining('openai 7')]],
    ['a.library.not.on.the.list', 3, ['does not report tokens']],
    ['a.library.not.on.the.list', 1, []],
  ])('is named for %s with %i of 3 calls without tokens', (scope, withoutTokens, gaps) => {
    expect(findUsageGaps(scope, { all: 3, withoutTokens })).toEqual(gaps);
  });

  it('is not named for another library with a similar name', () => {
    expect(['ai', 'ai.stream', 'aiohttp', 'openlit', 'openlitter'].filter((scope) => isScope(scope, 'ai'))).toEqual([
      'ai',
      'ai.stream',
    ]);
  });
});
