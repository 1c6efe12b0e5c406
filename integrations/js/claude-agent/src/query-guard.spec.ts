import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { appendFile, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Guard } from '@agentlens/sdk/adapter';
import { TestPlatform } from '@agentlens/sdk/testing';
import { QueryGuard } from './query-guard.ts';
import type { HookInput, Usage } from './shapes.ts';

const USAGE = { input_tokens: 7, output_tokens: 3 };
const HELPER_CALL = { tool_name: 'Agent', tool_use_id: 'h1', tool_input: { prompt: 'Write it' } };
const NO_ABORT = { signal: new AbortController().signal };

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

/** One sub-agent that calls its model twice, in a world where the test decides when its transcript is written. */
async function playing() {
  const folder = mkdtempSync(join(tmpdir(), 'agentlens-transcript-'));
  folders.push(folder);
  const project = join(folder, 'projects/home');
  const server = new TestPlatform();
  const lens = await server.client();
  const guard = new QueryGuard(new Guard(lens, { name: '@agentlens/claude-agent' }), { killed: () => undefined });
  const registered = guard.hooksWith();
  const hook = async (event: string, input: Omit<HookInput, 'hook_event_name'>) => {
    const fields = { session_id: 's1', transcript_path: join(project, 'main.jsonl'), ...input };
    const [matcher] = registered[event] ?? [];
    return matcher?.hooks[0]?.({ hook_event_name: event, ...fields }, input.tool_use_id, NO_ABORT);
  };
  await hook('UserPromptSubmit', { prompt: 'Go on' });
  await hook('PreToolUse', HELPER_CALL);
  await hook('SubagentStart', { agent_id: 'a1' });
  return {
    ...{ server, hook },
    /** The sub-agent's tools have run, and its model is called again. */
    batch: () => hook('PostToolBatch', { agent_id: 'a1', tool_calls: [{ tool_use_id: 'c1', tool_response: 'ok' }] }),
    stopped: () => hook('SubagentStop', { agent_id: 'a1' }),
    returned: () =>
      hook('PostToolUse', { ...HELPER_CALL, tool_response: { agentId: 'a1', status: 'completed', usage: USAGE } }),
    async writes(
      id: string,
      { usage = USAGE, stop_reason = 'end_turn' }: { usage?: Usage; stop_reason?: string | null } = {},
    ) {
      await mkdir(join(project, 'main/subagents'), { recursive: true });
      const message = { id, role: 'assistant', model: 'claude-sonnet-4-5', usage, content: [], stop_reason };
      await appendFile(
        join(project, 'main/subagents/agent-a1.jsonl'),
        `${JSON.stringify({ type: 'assistant', message })}\n`,
      );
    },
    async turnEnds() {
      const counted = { inputTokens: 14, outputTokens: 6 };
      await guard.message({ type: 'result', subtype: 'success', modelUsage: { 'claude-sonnet-4-5': counted } });
      await lens.shutdown();
    },
    /** The tokens of each of the sub-agent's model calls. */
    tokens: () => server.eventsOf('llm.result').map(({ data }) => data.tokens),
    /** Model calls of the main agent and of the sub-agent. */
    recorded() {
      const child = server.runs.find(({ start }) => start.parentRunId !== undefined)?.id;
      const runs = server.eventsOf('llm.result').map(({ runId }) => runId);
      return [runs.filter((id) => id !== child).length, runs.filter((id) => id === child).length];
    },
  };
}

void describe("the model calls of a sub-agent, by the framework's transcript", () => {
  void it('are recorded while the transcript keeps up', async () => {
    const query = await playing();
    await query.writes('m1');
    await query.batch();
    await query.stopped();
    await query.writes('m2');
    await query.returned();
    await query.turnEnds();
    assert.deepEqual(query.recorded(), [0, 2]);
  });

  void it('wait for an answer that is written after the call has returned', async () => {
    const query = await playing();
    await query.batch();
    await query.stopped();
    const returned = query.returned();
    await query.writes('m1');
    await returned;
    await query.turnEnds();
    assert.deepEqual(query.recorded(), [0, 2]);
  });

  void it('are not recorded twice if the last one is written late', async () => {
    const query = await playing();
    await query.writes('m1');
    await query.batch();
    await query.stopped();
    await query.returned();
    await query.writes('m2');
    await query.turnEnds();
    assert.deepEqual(query.recorded(), [0, 2]);
  });

  void it('have the usage of their end if a block was written before it', async () => {
    const query = await playing();
    await query.writes('m1', { usage: { ...USAGE, output_tokens: 1 }, stop_reason: null });
    await query.batch();
    await query.writes('m1');
    await query.stopped();
    await query.returned();
    await query.turnEnds();
    assert.deepEqual(query.recorded(), [0, 2]);
    const tokens = { in: 7, out: 3 };
    assert.partialDeepStrictEqual(query.tokens(), [tokens, tokens]);
  });

  void it('are recorded if the call returns before the sub-agent is reported as stopped', async () => {
    const query = await playing();
    await query.writes('m1');
    await query.batch();
    await query.returned();
    await query.stopped();
    await query.turnEnds();
    assert.deepEqual(query.recorded(), [0, 2]);
  });
});
