import {
  type GetPromptResult,
  type McpServer,
  type ReadResourceResult,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { answerOf, dataText, type FoundData } from './answer.ts';
import type { McpSession } from './session.ts';
import { TOOLS } from './tools/index.ts';
import { decisionSummary } from './tools/runs.ts';

const MAX_DECISIONS = 5;

/** Registers the two most common questions, with the data to answer them. */
export function registerPrompts(server: McpServer, session: McpSession): void {
  server.registerPrompt(
    'explain_block',
    {
      title: 'Why was this call blocked?',
      description: 'The latest blocked calls of a run, and the rules that blocked them.',
      argsSchema: z.object({ runId: z.string().min(1).describe('the run') }),
    },
    ({ runId }) => explainBlock(session, runId),
  );
  server.registerPrompt(
    'draft_guardrail',
    {
      title: 'Draft a guardrail',
      description: 'Writes a rule for a goal, validates it, and creates it in shadow mode.',
      argsSchema: z.object({ goal: z.string().min(1).max(2_000).describe('what must not happen') }),
    },
    ({ goal }) => draftGuardrail(session, goal),
  );
}

async function explainBlock({ client, consoleUrl }: McpSession, runId: string): Promise<GetPromptResult> {
  const query = { runId, verdict: 'BLOCK', limit: MAX_DECISIONS };
  const { decisions } = await client.listDecisions({ query });
  const ruleIds = [...new Set(decisions.flatMap(({ finalRuleId }) => finalRuleId ?? []))];
  const rules = await Promise.all(
    ruleIds.map((id) => client.getRule({ params: { id } }).catch(() => ({ id, deleted: true }))),
  );
  const task =
    `Explain why calls of the run ${JSON.stringify(runId)} were blocked: which rule (or budget, breaker, order) decided, ` +
    'what it checks, what in the call matched, and what would let such a call proceed. State what you do not know. ' +
    `The run in the console: ${consoleUrl}/runs/${encodeURIComponent(runId)}`;
  return asked(task, { decisions: decisions.map(decisionSummary), rules });
}

async function draftGuardrail({ client }: McpSession, goal: string): Promise<GetPromptResult> {
  const { conditions, actions } = await client.getRuleCatalog();
  const entry = ({ type, title, phases }: { type: string; title: string; phases: readonly string[] }) => ({
    type,
    title,
    phases,
  });
  const task =
    `Draft a guardrail rule for this goal: ${JSON.stringify(goal)}\n` +
    'Choose a condition and an action from the catalog below, and read their schemas with agentlens_catalog (type). ' +
    'Validate the draft with agentlens_guardrails (action "validate"), show it to me, and create it in shadow mode (action "create", ' +
    'mode "shadow"). Describe what its history must show before it may be enforced.';
  return asked(task, { conditions: conditions.map(entry), actions: actions.map(entry) });
}

function asked(task: string, data: object): GetPromptResult {
  return { messages: [{ role: 'user', content: { type: 'text', text: `${task}\n\n${dataText(data)}` } }] };
}

const TEMPLATES = [
  {
    name: 'rule',
    uri: 'agentlens://rules/{id}',
    tool: 'guardrails',
    action: 'status',
    field: 'ruleId',
    title: 'A rule and its status',
  },
  { name: 'run', uri: 'agentlens://runs/{id}', tool: 'runs', action: 'get', field: 'runId', title: 'A run' },
] as const;

/** Registers rules and runs by id. */
export function registerResources(server: McpServer, session: McpSession): void {
  for (const { name, uri, title, tool, action, field } of TEMPLATES) {
    const read = TOOLS.find((one) => one.name === tool)?.actions[action];
    const template = new ResourceTemplate(uri, { list: undefined });
    server.registerResource(name, template, { title, mimeType: 'application/json' }, async (address, { id }) => {
      const found = await read?.run(session, { [field]: decodeURIComponent(String(id)) });
      if (found === undefined) throw new Error(`no action ${tool}.${action}`);
      return contentsOf(address.href, found, session);
    });
  }
}

async function contentsOf(uri: string, found: FoundData, { consoleUrl }: McpSession): Promise<ReadResourceResult> {
  const { structuredContent } = await answerOf(found, { action: 'get', full: false, consoleUrl });
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(structuredContent) }] };
}
