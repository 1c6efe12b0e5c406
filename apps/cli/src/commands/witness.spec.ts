import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSigner, planConsistency, signCheckpoint, writeVerifierKey } from '@agentlens/log';
import { readLeaves } from '@agentlens/log/testing';
import { openCheckpoint, readVerifierKey } from '@agentlens/log-verify';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

const ORIGIN = 'example.com/log/1';
const signer = openSigner(Buffer.alloc(32, 3));
const LOG = writeVerifierKey(ORIGIN, signer.publicKey);
const leaves = Array.from({ length: 20 }, (_, n) => `leaf ${n}`);
/** The same log, rewritten at its third entry. */
const fork = leaves.map((leaf, n) => (n === 2 ? 'other' : leaf));

async function checkpoint(size: number, of: readonly string[] = leaves): Promise<string> {
  return signCheckpoint({ origin: ORIGIN, size, root: await readLeaves(of.slice(0, size)).root() }, signer);
}

async function ask(old: number, size: number, of: readonly string[] = leaves): Promise<string> {
  const proof = old === 0 ? [] : await readLeaves(of.slice(0, size)).prove(planConsistency(old, size));
  return `old ${old}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${await checkpoint(size, of)}`;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentlens-witness-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the command until `work` is done. */
async function withWitness<T>(work: (url: string, key: string) => Promise<T>, ...words: string[]) {
  const stopping = new AbortController();
  let worked: Promise<T> | undefined;
  const run = await runCli(['witness', '--json', '--key', 'w.key', '--log', LOG, '--listen', '127.0.0.1:0', ...words], {
    folder,
    signal: stopping.signal,
    onStdout: (text) => {
      const { url, key } = JSON.parse(text) as { url: string; key: string };
      worked = work(url, key).finally(() => stopping.abort());
    },
  });
  return { run, result: await worked };
}

const post = (url: string, body: string | Uint8Array<ArrayBuffer>) =>
  fetch(`${url}/add-checkpoint`, { method: 'POST', body });
const NEW = ['--name', 'witness.example/w1'];

describe('agentlens witness', () => {
  it('cosigns a log that grows, and nothing of one that is hostile', async () => {
    const { run } = await withWitness(
      async (url, key) => {
        const first = await post(url, await ask(0, 10));
        const line = await first.text();
        expect(first.status).toBe(200);
        expect(openCheckpoint((await checkpoint(10)) + line, [readVerifierKey(key)]).signedBy).toEqual([
          'witness.example/w1',
        ]);

        const rollback = await post(url, await ask(0, 5));
        expect([rollback.status, rollback.headers.get('content-type'), await rollback.text()]).toEqual([
          409,
          'text/x.tlog.size',
          '10\n',
        ]);
        expect((await post(url, await ask(10, 20, fork))).status).toBe(422);
        expect((await post(url, (await ask(10, 20)).replace(/^(old 10\n).*\n/, '$1'))).status).toBe(422);
        expect((await post(url, (await ask(10, 20)).replace('\n20\n', '\n19\n'))).status).toBe(403);
        expect((await post(url, (await ask(10, 20)).replaceAll(ORIGIN, 'other/log'))).status).toBe(404);
        expect((await post(url, await ask(10, 20))).status).toBe(200);
      },
      ...NEW,
    );
    expect(run.stderr).toContain('A log contradicts what was cosigned');
    expect(run.exitCode).toBe(130);
  });

  it('goes on where it stopped', async () => {
    const grow = async (url: string, key: string) => ({ key, status: (await post(url, await ask(0, 10))).status });
    const first = await withWitness(grow, ...NEW);
    const again = await withWitness(grow);
    expect([first.result?.status, again.result?.status]).toEqual([200, 409]);
    expect(again.result?.key).toBe(first.result?.key);
    expect(statSync(join(folder, 'w.key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(['w.key', 'w.key.state']);
  });

  it('does not begin without its state, unless told so', async () => {
    const nothing = () => Promise.resolve();
    await withWitness(nothing, ...NEW);
    rmSync(join(folder, 'w.key.state'));
    expect((await withWitness(nothing)).run.stderr).toContain('the witness does not know what it cosigned');
    expect((await withWitness(nothing, '--new-state')).run.exitCode).toBe(130);
  });

  it('does not begin with a state that was changed', async () => {
    await withWitness(async (url) => post(url, await ask(0, 10)), ...NEW);
    const file = join(folder, 'w.key.state');
    writeFileSync(file, readFileSync(file, 'utf8').replace('\\n10\\n', '\\n9\\n'));
    const { run } = await withWitness(() => Promise.resolve());
    expect({ exit: run.exitCode, stdout: run.stdout }).toEqual({ exit: 1, stdout: '' });
    expect(run.stderr).toContain('does not match the checkpoint');
    writeFileSync(file, '[]');
    expect((await withWitness(() => Promise.resolve())).run.stderr).toContain('is not the state of a witness');
  });

  it('signs nothing that it cannot store', async () => {
    await withWitness(() => Promise.resolve(), ...NEW);
    const { run, result } = await withWitness(async (url) => {
      rmSync(folder, { recursive: true, force: true });
      const { status } = await post(url, await ask(0, 10));
      return status;
    });
    expect(result).toBe(500);
    expect(run.stderr).toContain('Nothing was cosigned');
  });

  it('serves what it cosigned, and bounds what it reads', async () => {
    await withWitness(
      async (url) => {
        const served = () => fetch(`${url}/${createHash('sha256').update(ORIGIN).digest('hex')}/checkpoint`);
        expect((await served()).status).toBe(404);
        await post(url, await ask(0, 10));
        expect(openCheckpoint(await (await served()).text(), [readVerifierKey(LOG)])).toMatchObject({ size: 10 });
        expect((await post(url, 'x'.repeat(300_000))).status).toBe(413);
        expect((await post(url, Uint8Array.of(0xff, 0xfe))).status).toBe(400);
        expect((await fetch(`${url}/add-checkpoint`)).status).toBe(405);
        expect((await fetch(`${url}/other`)).status).toBe(404);
      },
      ...NEW,
    );
  });

  it('explains keys that it cannot use', async () => {
    const nothing = () => Promise.resolve();
    expect((await withWitness(nothing)).run.stderr).toContain('Name a new one with --name');
    expect((await withWitness(nothing, '--name', 'two words')).run.stderr).toContain('--name: the key must have');
    expect((await withWitness(nothing, ...NEW, '--log', 'x')).run.stderr).toContain('--log: the key must have');
    const { result: key = '' } = await withWitness((_, own) => Promise.resolve(own), ...NEW);
    expect((await withWitness(nothing, '--log', key)).run.stderr).toContain('is not the key of a log');
    expect((await withWitness(nothing, '--name', 'another')).run.stderr).toContain('has the name witness.example/w1');
    chmodSync(join(folder, 'w.key'), 0o644);
    expect((await withWitness(nothing)).run.stderr).toContain('chmod 600');
  });
});
