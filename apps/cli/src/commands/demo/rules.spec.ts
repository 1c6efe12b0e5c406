import type { Client } from '@agentlens/client';
import { describe, expect, it } from '@jest/globals';
import { removeLeftovers } from './rules.ts';
import type { DemoScreen } from './screen.ts';

describe('a demo', () => {
  it('removes the rules of a demo that was killed, and no other', async () => {
    const rule = (id: string, agentId: string | undefined, createdAt: string) => ({ id, name: id, agentId, createdAt });
    const old = '2026-03-01T10:00:00.000Z';
    const rules = [
      rule('left', 'demo-agent-0a1b2c', old),
      rule('left too', 'demo-buyer-0a1b2c', old),
      rule('of a running demo', 'demo-agent-ffffff', '2026-03-01T11:59:00.000Z'),
      rule('of a user', 'demo-agent-mine', old),
      rule('of every agent', undefined, old),
    ];
    const deleted: string[] = [];
    const client = {
      getMe: async () => ({ now: '2026-03-01T12:00:00.000Z' }),
      listRules: async () => ({ rules }),
      deleteRule: async ({ params }: { params: { id: string } }) => void deleted.push(params.id),
    } as unknown as Client;
    await removeLeftovers({ client, screen: { note: () => undefined } as unknown as DemoScreen });
    expect(deleted).toEqual(['left', 'left too']);
  });
});
