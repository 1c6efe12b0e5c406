import type { Decision } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { type DemoWorld, runDemoAgent } from './demo-agent.ts';

const ALLOW = { verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' } } as Decision;
const BLOCK = { verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'RULE_VIOLATION', ruleId: 'r' } } as Decision;
const WAIT = { verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'HITL_PENDING', approvalId: 'a' } } as Decision;
const KILLED = { verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } } as Decision;

/** A world with scripted answers whose clock moves with every pause. */
function worldOf(answer: (toolName: string, asked: number) => Decision) {
  const reported: string[] = [];
  const asked: string[] = [];
  let [nowMs, ids] = [0, 0];
  const world: DemoWorld = {
    report: async ({ eventType }) => void reported.push(eventType),
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
  return { world, reported, asked };
}

const count = (list: readonly string[], word: string) => list.filter((one) => one === word).length;

describe('the demo agent', () => {
  it('repeats its search until it is stopped, and makes no call that was blocked', async () => {
    const { world, reported, asked } = worldOf((tool, times) => (tool === 'web_search' && times > 3 ? BLOCK : ALLOW));
    await runDemoAgent(world);
    expect(count(asked, 'web_search')).toBe(4);
    expect(count(reported, 'tool_call')).toBe(3 + 1);
    expect(reported.at(-1)).toBe('session_ended');
  });

  it('repeats the same question until a person has answered, then continues', async () => {
    const { world, reported, asked } = worldOf((tool, times) => (tool === 'buy_report' && times < 4 ? WAIT : ALLOW));
    await runDemoAgent(world);
    expect(count(asked, 'buy_report')).toBe(4);
    expect(reported.at(-1)).toBe('session_ended');
  });

  it('gives up if no person answers', async () => {
    const { world, reported } = worldOf((tool) => (tool === 'buy_report' ? WAIT : ALLOW));
    await runDemoAgent(world);
    expect(reported.at(-1)).toBe('session_ended');
  });

  it('ends at once if it is killed', async () => {
    const { world, asked } = worldOf(() => KILLED);
    await runDemoAgent(world);
    expect(asked).toEqual(['web_search']);
  });
});
