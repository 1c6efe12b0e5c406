import { describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import type { AgentConfig } from '../agent/agent-config.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { Cassette } from './cassette.ts';

const agent = (id: string, steps: readonly ScriptStep[], more: Partial<AgentConfig> = {}) =>
  new Agent({
    ...{ id, taskPrompt: `You are ${id}.`, modelProviders: [new ScriptedModel(steps)] },
    ...{ permissions: [PermissionRule.all('allow')], ...more },
  });
const call = (name: string, task: string, id = `${name}-${task}`) => ({ id, name, input: { task } });

/** A run, and its replay with models that never answer. */
async function replayed(make: (steps: (steps: readonly ScriptStep[]) => readonly ScriptStep[]) => Agent) {
  const cassette = new Cassette();
  const first = await make((steps) => steps).run({ input: 'go', record: cassette, seed: 7 });
  const again = await make(() => []).run({ input: 'go', replay: cassette });
  return { first, again };
}

const outcome = ({ success, result, error, actions, tokenUsage, runId }: Awaited<ReturnType<Agent['run']>>) => ({
  ...{ success, result, error, tokenUsage, runId },
  actions: actions.map(({ toolId, output, isError }) => ({ toolId, output, isError })),
});

describe('a replay with sub-agents', () => {
  it('repeats one child', async () => {
    const { first, again } = await replayed((steps) =>
      agent('top', steps([{ toolCalls: [call('child', 'a')] }, { text: 'top done' }]), {
        subAgents: { child: agent('child', steps([{ text: 'child done' }])) },
      }),
    );
    expect(first).toMatchObject({ success: true, result: 'top done' });
    expect(outcome(again)).toEqual(outcome(first));
  });

  it('repeats nested children', async () => {
    const { first, again } = await replayed((steps) => {
      const leaf = agent('leaf', steps([{ text: 'leaf done' }, { text: 'leaf done again' }]));
      const middle = agent('middle', steps([{ toolCalls: [call('leaf', 'b')] }, { text: 'middle done' }]), {
        subAgents: { leaf },
      });
      return agent(
        'top',
        steps([{ toolCalls: [call('middle', 'a')] }, { toolCalls: [call('leaf', 'c')] }, { text: 'top done' }]),
        { subAgents: { middle, leaf } },
      );
    });
    expect(first).toMatchObject({ success: true, result: 'top done' });
    expect(outcome(again)).toEqual(outcome(first));
  });

  it('repeats concurrent children in any order of completion', async () => {
    const { first, again } = await replayed((steps) =>
      agent('top', steps([{ toolCalls: [call('slow', 'a'), call('quick', 'b')] }, { text: 'top done' }]), {
        subAgents: {
          slow: agent('slow', steps([{ text: 'one', delayMs: 30 }, { text: 'two' }])),
          quick: agent('quick', steps([{ text: 'three' }])),
        },
      }),
    );
    expect(first).toMatchObject({ success: true, result: 'top done' });
    expect(outcome(again)).toEqual(outcome(first));
  });

  it('repeats a child that failed', async () => {
    const { first, again } = await replayed((steps) =>
      agent('top', steps([{ toolCalls: [call('child', 'a')] }, { text: 'went on' }]), {
        subAgents: {
          child: agent('child', steps([{ error: new Error('no model') }]), { retry: { model: { tries: 1 } } }),
        },
      }),
    );
    expect(first).toMatchObject({ success: true, result: 'went on' });
    expect(first.actions[0]).toMatchObject({ isError: true });
    expect(outcome(again)).toEqual(outcome(first));
  });

  it('fails if the run ends before its recording', async () => {
    const cassette = new Cassette();
    const make = (steps: readonly ScriptStep[]) =>
      agent('top', steps, { subAgents: { child: agent('child', [{ text: 'child done' }]) } });
    await make([{ toolCalls: [call('child', 'a')] }, { text: 'top done' }]).run({ input: 'go', record: cassette });
    const last = cassette.entries.at(-1);
    if (last !== undefined) cassette.entries.push({ ...last, n: last.n + 1, occurrence: last.occurrence + 1 });
    const again = await make([]).run({ input: 'go', replay: cassette });
    expect(again).toMatchObject({ success: false, error: { code: 'replay_mismatch' } });
  });
});
