import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Message, textOf } from '../core/message.ts';
import { sessionStoreContract } from '../testing/contracts/session-store.contract.ts';
import { AgentSession } from './agent-session.ts';
import { FileSessionStore } from './file-session-store.ts';
import { MemorySessionStore } from './memory-session-store.ts';
import { writeFailed } from './session-files.ts';

const folders: string[] = [];
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'agent-sessions-'));
  folders.push(made);
  return made;
}
afterEach(async () => {
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true });
});

sessionStoreContract('memory', async () => new MemorySessionStore());
sessionStoreContract('a folder', async () => new FileSessionStore(await folder()));

async function stored(messages: readonly string[]) {
  const dir = await folder();
  const session = new AgentSession('coder', { sessionId: 'one' });
  for (const text of messages) session.addMessage(Message.user(text));
  await session.save(new FileSessionStore(dir));
  return { dir, history: join(dir, 'one', 'history.jsonl') };
}

describe('a folder of sessions', () => {
  it('has the documented files, readable only by the owner', async () => {
    const { dir } = await stored(['hello']);
    expect((await readdir(join(dir, 'one'))).sort()).toEqual(['history.jsonl', 'metadata.json']);
    expect(JSON.parse(await readFile(join(dir, 'one', 'metadata.json'), 'utf8'))).toMatchObject({
      ...{
        schema_version: 1,
        session_id: 'one',
        agent_type: 'coder',
        parent_session_id: null,
        parent_tool_use_id: null,
      },
      ...{ child_session_ids: [], model: '', provider: '', entry_count: 1, metadata: {} },
    });
    for (const name of ['history.jsonl', 'metadata.json'])
      expect((await stat(join(dir, 'one', name))).mode & 0o077).toBe(0);
  });

  it('reads what an earlier version wrote', async () => {
    const dir = await folder();
    const store = new FileSessionStore(dir);
    await store.create(new AgentSession('coder', { sessionId: 'old' }).toMetadata());
    await writeFile(
      join(dir, 'old', 'metadata.json'),
      '{"session_id":"old","agent_type":"coder","parent_session_id":null,"parent_tool_use_id":null,"child_session_ids":["x"],"model":"m","provider":"p","created_at":"2026-01-14T10:30:00Z","updated_at":"2026-01-14T10:45:00Z","metadata":{"custom_key":"v"}}',
    );
    const session = await AgentSession.load(store, 'old');
    expect([session.model, session.getMetadata('custom_key'), session.getChildSessions()]).toEqual(['m', 'v', ['x']]);
  });

  it('loses at most the entry being written, wherever the file is cut', async () => {
    const texts = ['first', 'zwei 👋', 'third'];
    const { dir, history } = await stored(texts);
    const bytes = await readFile(history);
    const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
    for (let cut = bytes.length; cut >= 0; cut -= 7) {
      await writeFile(history, bytes.subarray(0, cut));
      const whole = ends.filter((end) => end <= cut).length;
      const loaded = await new FileSessionStore(dir).load('one');
      expect({ cut, entries: loaded.entries.length, torn: loaded.torn }).toEqual({
        cut,
        entries: whole,
        torn: ![0, ...ends].includes(cut),
      });
      const session = await AgentSession.load(new FileSessionStore(dir), 'one');
      session.addMessage(Message.user('after'));
      await session.save();
      const again = await AgentSession.load(new FileSessionStore(dir), 'one');
      expect(again.getHistory()).toHaveLength(whole + 1);
    }
  });

  it('reports the byte at which a file is damaged', async () => {
    const { dir, history } = await stored(['a', 'b', 'c']);
    const lines = (await readFile(history, 'utf8')).split('\n');
    const offset = Buffer.byteLength(`${lines[0]}\n`);
    await writeFile(history, [lines[0], 'garbage', lines[2], ''].join('\n'));
    await expect(new FileSessionStore(dir).load('one')).rejects.toMatchObject({
      code: 'session_corrupt',
      info: { offset },
    });
    await writeFile(history, [lines[0], lines[2], ''].join('\n'));
    await expect(new FileSessionStore(dir).load('one')).rejects.toMatchObject({
      code: 'session_corrupt',
      info: { offset },
    });
  });

  it('rejects data of a newer version', async () => {
    const { dir, history } = await stored(['a']);
    await appendFile(history, '{"v":2,"seq":2,"at":"","type":"message"}\n');
    await expect(new FileSessionStore(dir).load('one')).rejects.toMatchObject({ code: 'schema_too_new' });
  });

  it.each(['../evil', '', 'a/b', 'x'.repeat(65), 'a b'])('rejects an id that is not a file name: %j', async (id) => {
    const store = new FileSessionStore(await folder());
    await expect(store.load(id)).rejects.toMatchObject({ code: 'invalid_config' });
    expect(() => new AgentSession('coder', { sessionId: id })).toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
  });

  it('takes over the lease of a dead process', async () => {
    const { dir } = await stored(['a']);
    const lease = join(dir, 'one', 'lease.json');
    const store = new FileSessionStore(dir);
    await writeFile(lease, JSON.stringify({ pid: 2 ** 22 - 1, startedAt: '1', host: hostname(), owner: 'x' }));
    const taken = await store.acquire('one', 'me');
    await expect(store.acquire('one', 'other')).rejects.toMatchObject({ code: 'session_busy' });
    await taken.release();
    // A process id that was reused.
    await writeFile(lease, JSON.stringify({ pid: process.pid, startedAt: '1', host: hostname(), owner: 'x' }));
    await (await store.acquire('one', 'me')).release();
    await writeFile(lease, JSON.stringify({ pid: 1, startedAt: null, host: 'elsewhere', owner: 'x' }));
    await expect(store.acquire('one', 'me')).rejects.toMatchObject({ code: 'session_busy' });
  });

  it('keeps what could not be written for the next write', async () => {
    const { dir, history } = await stored(['a']);
    const session = await AgentSession.load(new FileSessionStore(dir), 'one');
    session.addMessage(Message.user('b'));
    await session.save();
    const before = await readFile(history);
    // A folder in the file's place fails like a full disk.
    await rm(history);
    await mkdir(history);
    session.addMessage(Message.user('c'));
    await expect(session.save()).rejects.toMatchObject({ code: 'session_write_failed' });
    await rm(history, { recursive: true });
    await writeFile(history, before);
    session.addMessage(Message.user('d'));
    await session.save();
    const again = await AgentSession.load(new FileSessionStore(dir), 'one');
    expect(again.getHistory().map(({ content }) => textOf(content))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('reports a full disk', () => {
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    expect(writeFailed(full)).toMatchObject({
      code: 'session_write_failed',
      message: expect.stringContaining('disk is full'),
    });
  });

  it('contains no secret from the conversation', async () => {
    const { history } = await stored([
      'my key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH and a@b.example',
    ]);
    const text = await readFile(history, 'utf8');
    expect(text).not.toContain('abcdefghijklmnopqrstuvwxyz');
    expect(text).not.toContain('a@b.example');
  });
});

describe('a session', () => {
  it('forks without calls that have no result', async () => {
    const session = new AgentSession('coder', { metadata: { k: 1 } });
    session.addMessage(Message.user('do it'));
    session.addMessage(
      Message.assistant([
        { type: 'text', text: 'ok' },
        { type: 'tool_use', id: 't1', name: 'bash', input: {} },
      ]),
    );
    session.addMessage(
      Message.user([{ type: 'tool_result', toolUseId: 't1', name: 'bash', content: 'done', isError: false }]),
    );
    const whole = session.fork();
    expect(whole.getHistory()).toEqual(session.getHistory());
    expect(whole.sessionId).not.toBe(session.sessionId);
    expect(whole.getMetadata('forked_from')).toBe(session.sessionId);
    expect(session.fork(2).getHistory().at(-1)).toEqual(Message.assistant('ok'));
  });

  it('requires a store for saving', async () => {
    await expect(new AgentSession('coder').save()).rejects.toMatchObject({ code: 'invalid_config' });
  });
});
