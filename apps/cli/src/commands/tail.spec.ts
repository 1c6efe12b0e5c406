import { describe, expect, it } from '@jest/globals';
import { runCli, type SentRequest } from '../run-cli.testing.ts';

const frame = (event: string, data: object, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Streams the text, then fails permanently, which ends the command. */
function streaming(text: string) {
  let asked = 0;
  return ({ path }: SentRequest) => {
    if (!path.includes('/stream')) return { alerts: [ALERT], hasMore: false };
    asked += 1;
    if (asked > 1) return Response.json({ error: 'The key was revoked' }, { status: 401 });
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  };
}

const ALERT = {
  ...{ id: 'alert-1', kind: 'approval', status: 'pending', agentId: 'bot', title: 'May it pay?', version: 1 },
  createdAt: '2026-11-25T10:00:00.000Z',
};
const DECISION = { agentId: 'bot', verdict: 'BLOCK', toolName: 'rm', phase: 'tool.before', message: 'no\u001b[2J' };

describe('tail', () => {
  const text = [
    frame('heartbeat', { time: 't' }),
    frame('decision', DECISION, '1.0-1'),
    frame('dropped', { count: 5, lastEventId: null }),
    frame('order', { scope: 'agent', scopeId: 'bot', state: 'killed', by: 'ops', reason: '' }),
  ].join('');

  it('prints one line per fact and escapes control sequences in it', async () => {
    const { exitCode, stdout, stderr } = await runCli(['tail'], { answer: streaming(text) });
    expect(stdout).toBe(
      '10:00:00Z  decision        bot  BLOCK rm: no\\u001b[2J\n10:00:00Z  order           agent bot is killed, by ops\n',
    );
    expect(stderr).toContain('Missed 5 messages');
    expect(exitCode).toBe(4);
  });

  it('prints one JSON line per fact with --json', async () => {
    const { stdout } = await runCli(['tail', '--json'], { answer: streaming(text) });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { event: 'decision', id: '1.0-1', data: DECISION },
      { event: 'order', data: { scopeId: 'bot' } },
    ]);
  });

  it('passes the filters to the stream', async () => {
    const words = ['tail', '--agent', 'bot', '--run', 'run-1', '--kinds', 'event,decision', '--type', 'tool_error'];
    const { requests } = await runCli(words, { answer: streaming('') });
    const query = new URL(requests[1]?.path ?? '', 'http://x').searchParams;
    expect(Object.fromEntries(query)).toEqual({
      ...{ agentId: 'bot', sessionId: 'run-1', kinds: 'event,decision', eventType: 'tool_error' },
    });
  });
});

describe('approvals watch', () => {
  it('shows open approvals first, then each change once', async () => {
    const text = [
      frame('heartbeat', { time: 't' }),
      frame('alert', ALERT, '1'),
      frame('alert', { ...ALERT, status: 'approved', decidedBy: 'ops', version: 2 }, '2'),
    ].join('');
    const { stdout } = await runCli(['approvals', 'watch'], { answer: streaming(text) });
    expect(stdout.trimEnd().split('\n')).toEqual([
      '10:00:00Z  pending       alert-1  bot  May it pay?',
      '10:00:00Z  approved      alert-1  bot  May it pay? by ops',
    ]);
  });
});
