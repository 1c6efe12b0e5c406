import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guard } from '@agentlens/claude-agent';
import * as claude from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import { conform } from '../../conformance/src/conform.ts';
import {
  type AgentSpec,
  type Driver,
  type NestedSpec,
  type Outcome,
  Script,
  type ToolSpec,
  type Turn,
} from '../../conformance/src/driver.ts';
import { serveMessages } from './messages-api.ts';

type Claude = typeof claude;

const HELPER = 'You are the helper.';
const ANY = { path: z.string().optional(), query: z.string().optional() };

/** The framework's name of a tool that a server in this process has. */
const named = (tool: string) => `mcp__kit__${tool}`;

/** The script, with calls by the names that the framework gives its tools. */
function scriptOf(turns: readonly Turn[]): Script {
  return new Script(
    turns.map((turn) =>
      turn instanceof Error
        ? turn
        : turn.map((part) => {
            if (typeof part === 'string' || part.providerResult !== undefined) return part;
            if (part.tool !== 'helper') return { ...part, tool: named(part.tool) };
            const args = {
              subagent_type: 'helper',
              description: 'helps',
              prompt: 'Write it',
              run_in_background: false,
            };
            return { ...part, tool: 'Agent', args };
          }),
    ),
  );
}

function serverOf({ tool, createSdkMcpServer }: Claude, specs: readonly ToolSpec[], signal?: AbortSignal) {
  const tools = specs.map(({ name, execute }) =>
    tool(name, name, ANY, async (args) => ({
      content: [{ type: 'text', text: String(await execute?.(args, signal)) }],
    })),
  );
  return createSdkMcpServer({ name: 'kit', version: '1.0.0', tools });
}

async function play(framework: object, spec: AgentSpec, inner?: AgentSpec): Promise<Outcome> {
  const sdk = framework as Claude;
  const [outerScript, innerScript] = [scriptOf(spec.turns), scriptOf(inner?.turns ?? [])];
  const api = await serveMessages((system) => (system.includes(HELPER) ? innerScript : outerScript));
  const home = mkdtempSync(join(tmpdir(), 'agentlens-claude-'));
  const abortController = new AbortController();
  spec.signal?.addEventListener('abort', () => abortController.abort(), { once: true });
  const { ownHooks, prompt = 'Go on' } = spec;
  const own: claude.HookCallback = async () => {
    ownHooks?.push('PreToolUse');
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } };
  };
  try {
    const query = sdk.query({
      prompt,
      options: {
        ...{
          cwd: home,
          settingSources: [],
          permissionMode: 'bypassPermissions',
          allowDangerouslySkipPermissions: true,
        },
        ...{ abortController, model: 'claude-sonnet-4-5', mcpServersDelivery: 'initialize' as const },
        env: {
          ...{ PATH: process.env.PATH, HOME: home, ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: 'x' },
          ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', IS_SANDBOX: '1' },
        },
        mcpServers: { kit: serverOf(sdk, [...spec.tools, ...(inner?.tools ?? [])], abortController.signal) },
        agents: { helper: { description: 'Helps', prompt: HELPER, tools: [named('write')] } },
        ...(ownHooks === undefined ? {} : { hooks: { PreToolUse: [{ hooks: [own] }] } }),
      },
    });
    let text = '';
    let error: unknown;
    for await (const message of query) {
      if (message.type !== 'result') continue;
      if (message.subtype === 'success') text = message.result;
      if (message.is_error) error = new Error(text);
    }
    return { text, error, requests: outerScript.requests };
  } catch (error) {
    return { text: '', error, requests: outerScript.requests };
  } finally {
    await api.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

const driver: Driver = {
  name: 'Claude Agent SDK 0.3',
  package: '@agentlens/claude-agent',
  version: '0.3.331',
  framework: claude,
  marks: ['HOOK_EVENTS'],
  guard,
  run: (framework, spec) => play(framework, spec),
  nested: (framework, { outer, inner }: NestedSpec) => play(framework, outer, inner),
  named,
  subAgentTool: 'Agent',
  badges: { 'model call': 'enforced, between turns' },
  cannot: {
    'passes on a tool that streams its result': 'a tool has one result',
    'follows a change of the model during a run': 'the model is a setting of the whole query',
    'sends the model only redacted messages':
      'the framework writes its prompts in a process of its own; records are cleaned',
    'guards an agent after a hand-off': 'the framework has no hand-offs',
  },
};

conform(driver);
