import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { openToolUses } from '../core/message.ts';
import { AgentSession } from './agent-session.ts';
import { FileSessionStore } from './file-session-store.ts';

const PROGRAM = join(import.meta.dirname, 'crash.testing.ts');
const FLAGS = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];

/** Runs the program, killed `afterMs` after it has started; returns its last output. */
function run(store: string, log: string, afterMs: number | null): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...FLAGS, PROGRAM, store, log], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => {
      const first = said === '';
      said += bytes.toString();
      if (first && afterMs !== null) setTimeout(() => child.kill('SIGKILL'), afterMs);
    });
    child.once('error', reject);
    child.once('close', () => resolve(said.trim().split('\n').at(-1) ?? ''));
  });
}

describe('an agent killed at random moments', () => {
  it('continues in the next process and calls no tool twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-crash-'));
    const [store, log] = [join(folder, 'sessions'), join(folder, 'log')];
    let last = '';
    for (let kills = 0; kills < 8 && !last.startsWith('{'); kills++)
      last = await run(store, log, Math.floor(Math.random() * 60));
    if (!last.startsWith('{')) last = await run(store, log, null);
    expect(JSON.parse(last)).toEqual({ success: true, result: 'all noted' });
    const noted = (await readFile(log, 'utf8')).trim().split('\n');
    expect(new Set(noted).size).toBe(noted.length);
    const session = await AgentSession.load(new FileSessionStore(store), 'crashing');
    expect(openToolUses(session.getHistory())).toEqual([]);
    const results = session
      .getHistory()
      .flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_result' ? [block.toolUseId] : [])));
    expect(results).toEqual(Array.from({ length: 10 }, (_, index) => `call-${index}`));
    const told = session
      .getHistory()
      .filter(({ content }) => content.some((block) => block.type === 'text' && block.text === 'Note ten numbers.'));
    expect(told).toHaveLength(1);
    await rm(folder, { recursive: true });
  });
});
