import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { HostId } from '../src/hosts/host.ts';
import { Journal } from '../src/state.ts';
import { UsageClaims } from '../src/transcripts/claims.ts';
import { Usage } from '../src/transcripts/usage.ts';

void describe('usage in transcripts', () => {
  let folder: string;
  let usage: Usage;
  const restart = () => {
    usage = new Usage(new UsageClaims(new Journal(join(folder, 'journal')), () => Date.now()));
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'guard-usage-'));
    restart();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const file = (name: string, lines: readonly object[]) => {
    const path = join(folder, `${name}.jsonl`);
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return path;
  };
  const read = (host: HostId, id: string, path: string) => usage.read({ host, id, agent: undefined }, path, true);
  const outputs = (host: HostId, id: string, path: string) => read(host, id, path).map(({ output }) => output);

  const claude = (id: string, more: object = {}) => ({
    type: 'assistant',
    message: { id, model: 'claude-opus-4-8', usage: { input_tokens: 1, output_tokens: 2, ...more } },
  });
  const meta = (id: string, more: object = {}) => ({ type: 'session_meta', payload: { id, ...more } });
  const tokens = (output: number, sum: number) => ({
    type: 'event_msg',
    payload: {
      type: 'token_count',
      info: {
        last_token_usage: { input_tokens: 10, output_tokens: output },
        total_token_usage: { input_tokens: sum, output_tokens: sum },
      },
    },
  });

  void it('counts the calls of a forked session once, also after a restart', () => {
    assert.equal(read('claude-code', 's1', file('s1', [claude('m1'), claude('m2')])).length, 2);
    const fork = file('s2', [claude('m1'), claude('m2'), claude('m3')]);
    assert.deepEqual(
      read('claude-code', 's2', fork).map(({ id }) => id),
      ['m3'],
    );
    restart();
    assert.deepEqual(
      read('claude-code', 's3', file('s3', [claude('m1'), claude('m3'), claude('m4')])).map(({ id }) => id),
      ['m4'],
    );
    // Its own calls are reported again under the same ids, which the platform counts once.
    assert.equal(read('claude-code', 's2', fork).length, 1);
  });

  void it('reads fast mode, tiers and writes that live for an hour', () => {
    const hour = { cache_creation_input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 7 } };
    const path = file('s1', [
      claude('m1', { speed: 'standard', service_tier: 'standard' }),
      claude('m2', { speed: 'fast', service_tier: 'standard' }),
      claude('m3', { service_tier: 'batch', ...hour }),
    ]);
    assert.deepEqual(
      read('claude-code', 's1', path).map(({ tier, cacheWrite, cacheWriteHour }) => [tier, cacheWrite, cacheWriteHour]),
      [
        [undefined, 0, 0],
        ['fast', 0, 0],
        ['batch', 9, 7],
      ],
    );
  });

  void it('takes repeated counts of Codex for the same call', () => {
    const path = file('rollout-a', [meta('a'), tokens(1, 1), tokens(1, 1), tokens(1, 1)]);
    assert.deepEqual(outputs('codex', 'a', path), [1]);
    appendFileSync(path, `${JSON.stringify(tokens(1, 1))}\n${JSON.stringify(tokens(1, 2))}\n`);
    assert.deepEqual(outputs('codex', 'a', path), [1]);
  });

  void it('leaves out what a forked Codex session copied, and nothing of a session of equal size', () => {
    assert.deepEqual(outputs('codex', 'a', file('rollout-a', [meta('a'), tokens(1, 1), tokens(2, 3)])), [1, 2]);
    const fork = [meta('b', { forked_from_id: 'a' }), meta('a'), tokens(1, 1), tokens(2, 3), tokens(3, 6)];
    assert.deepEqual(outputs('codex', 'b', file('rollout-b', fork)), [3]);
    const again = [
      meta('c', { forked_from_id: 'b' }),
      meta('b'),
      meta('a'),
      tokens(1, 1),
      tokens(2, 3),
      tokens(3, 6),
      tokens(4, 10),
    ];
    assert.deepEqual(outputs('codex', 'c', file('rollout-c', again)), [4]);
    assert.deepEqual(outputs('codex', 'd', file('rollout-d', [meta('d'), tokens(1, 1), tokens(2, 3)])), [1, 2]);
  });
});
