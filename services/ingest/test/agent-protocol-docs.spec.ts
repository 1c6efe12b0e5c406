import { readFileSync } from 'node:fs';
import { AUDIT_KIND_NAMES, AUDIT_KINDS, END_STATUSES } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { type Protocol, startProtocol } from './agent-protocol.ts';

const page = readFileSync(new URL('../../../docs/agent-protocol.md', import.meta.url), 'utf8');

describe('docs/agent-protocol.md', () => {
  it.each(AUDIT_KIND_NAMES)('documents what happens to %s', (kind) => {
    expect(page).toMatch(new RegExp(`\\| \`${kind.replaceAll('.', '\\.')}\` \\| \`${AUDIT_KINDS[kind]}\``));
  });

  it('names every run outcome that new clients use', () => {
    for (const status of END_STATUSES.filter((one) => one !== 'ok' && one !== 'blocked')) {
      expect(page).toContain(`\`${status}\``);
    }
  });

  it('shows a valid question', async () => {
    const protocol: Protocol = await startProtocol();
    const question = /\{"phase"[\s\S]*?\n\n/.exec(page)?.[0] ?? '';
    const answer = await protocol.call('POST', '/v1/runs/r1/evaluate', question);
    expect(answer.status).toBe(200);
    expect(protocol.asked[0]).toMatchObject({ tool: { name: 'mail', tags: ['write'] }, metrics: { bytes_in: 10 } });
    await protocol.close();
  });
});
