import type { Decision } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { type DemoWorld, runDemoAgent } from './demo-agent.ts';

const ALLOW = { verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' } } as Decision;
const BLOCK = { verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'RULE_VIOLATION', ruleId: 'r' } } as Decision;
const WAIT = { verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'HITL_PENDING', approvalId: 'a' } } as Decision;
const KILLED = { verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } } as Decision;

/** A world that answers as told; its clock moves with every pause. */
function worldOf(answer: (toolName: string, asked: number) => Decision) {
  const told: string[] = [];
  const asked: string[] = [];
  let [nowMs, ids] = [0, 0];
  const world: DemoWorld = {
    tell: async ({ eventType }) => void told.push(eventType),
    ask: async ({ toolName }) => {
      asked.push(toolName);
      return answer(toolName, asked.filter((one) => one === toolName).length);
    },
    newId: () => String(ids++),
    pause: async (ms) => {
      nowMs += ms;
    },
    nowMs: () => nowMs,
  };
  return { world, told, asked };
}

const count = (list: readonly string[], word: string) => list.filter((one) => one === word).length;

describe('the demo agent', () => {
  it('searches again and again until it is stopped, and makes no call that was refused', async () => {
    const { world, told, asked } = worldOf((tool, times) => (tool === 'web_search' && times > 3 ? BLOCK : ALLOW));
    await runDemoAgent(world);
    expect(count(asked, 'web_search')).toBe(4);
    expect(count(told, 'tool_call')).toBe(3 + 1);
    expect(told.at(-1)).toBe('session_ended');
  });

  it('asks the same question until a human has answered, then goes on', async () => {
    const { world, told, asked } = worldOf((tool, times) => (tool === 'buy_report' && times < 4 ? WAIT : ALLOW));
    await runDemoAgent(world);
    expect(count(asked, 'buy_report')).toBe(4);
    expect(told.at(-1)).toBe('session_ended');
  });

  it('gives up where nobody answers', async () => {
    const { world, told } = worldOf((tool) => (tool === 'buy_report' ? WAIT : ALLOW));
    await runDemoAgent(world);
    expect(told.at(-1)).toBe('session_ended');
  });

  it('ends at once where it is killed', async () => {
    const { world, asked } = worldOf(() => KILLED);
    await runDemoAgent(world);
    expect(asked).toEqual(['web_search']);
  });
});
