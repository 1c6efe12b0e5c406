import type { Client } from '@agentlens/client';
import type { CommandContext, DefineCommand } from '../../context.ts';
import { PROGRAM } from '../../program-name.ts';
import { askModel, failedCall, type GatewayQuestion, readErrorMessage, withModelKey } from './model-calls.ts';

const AGENT = 'gateway-trial';
const CONNECTION = 'trial';
/** The address of the provider inside the gateway. It answers without a model and without a key. */
const TRIAL_PROVIDER = 'agentlens:trial';
const MAX_TOKENS = 5_000;
const MODEL = 'claude-sonnet-5';
const RULE_WAIT_MS = 10_000;
const BETWEEN_TRIES_MS = 100;
/** Of the stream, before its run is killed. */
const SHOWN_CHARS = 120;

/** Shows a blocked call and a stopped stream, without a key of a provider. Removes what it created. */
export const tryGateway: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    await client.setModelConnection({
      params: { name: CONNECTION },
      body: { dialect: 'anthropic', baseUrl: TRIAL_PROVIDER },
    });
    try {
      const shown = await withModelKey(context, AGENT, async (key) => {
        const question = { connection: CONNECTION, dialect: 'anthropic', key, model: MODEL, maxTokens: 100 } as const;
        return {
          blocked: await showBlocked(context, client, question),
          stopped: await showStopped(context, client, question),
        };
      });
      context.output.print(shown, () => `Both worked. Connect a provider: ${PROGRAM} gateway connect anthropic`);
    } finally {
      await client.deleteModelConnection({ params: { name: CONNECTION } });
    }
  });
};

async function showBlocked(context: CommandContext, client: Client, question: GatewayQuestion): Promise<string> {
  const { output, host } = context;
  output.note(`1. A rule limits answers of the agent "${AGENT}" to ${MAX_TOKENS} tokens. A call asks for more:`);
  const rule = await client.createRule({
    body: {
      name: 'Trial: no big answers',
      agentId: AGENT,
      conditionType: 'expression',
      conditionConfig: { expression: `args.request.maxTokens > ${MAX_TOKENS}` },
      actionType: 'block',
      actionConfig: { message: `Answers are limited to ${MAX_TOKENS} tokens` },
      selector: { phases: ['llm.before'] },
      mode: 'enforce',
    },
  });
  try {
    const lastMs = host.nowMs() + RULE_WAIT_MS;
    for (;;) {
      const answer = await askModel(context, { ...question, maxTokens: MAX_TOKENS + 1 });
      if (!answer.ok) {
        const message = `${answer.status}: ${await readErrorMessage(answer)}`;
        output.note(`   ${message}\n`);
        return message;
      }
      await answer.arrayBuffer();
      // A new rule reaches every evaluator within a second.
      if (host.nowMs() > lastMs) throw failedCall('The rule blocked no call within 10 seconds.');
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_TRIES_MS));
    }
  } finally {
    await client.deleteRule({ params: { id: rule.id } });
  }
}

async function showStopped(context: CommandContext, client: Client, question: GatewayQuestion): Promise<string> {
  const { output, host } = context;
  const run = `trial-${host.nowMs()}`;
  output.note(`2. An answer streams in the run ${run}, until the run is killed:`);
  const answer = await askModel(context, { ...question, run, streamed: true });
  if (!answer.ok || answer.body === null) throw failedCall(await readErrorMessage(answer));
  const decoder = new TextDecoder();
  let text = '';
  let isKilled = false;
  for await (const chunk of answer.body) {
    text += decoder.decode(chunk, { stream: true });
    const said = readWords(text);
    output.status(`   ${said.slice(-SHOWN_CHARS)}`);
    if (isKilled || said.length < SHOWN_CHARS) continue;
    isKilled = true;
    await client.createOrder({
      body: { scope: 'run', scopeId: run, state: 'killed', reason: 'The trial ends here', waitMs: 0 },
    });
  }
  output.status(undefined);
  const message = /"message":"([^"]*)"\}/.exec(text.slice(text.lastIndexOf('event: error')))?.[1];
  if (message === undefined) throw failedCall('The stream ended by itself: the kill did not reach the gateway.');
  output.note(`   ${readWords(text)}\n   [${message}]\n`);
  return message;
}

/** The text of a stream of Anthropic. */
function readWords(stream: string): string {
  return [...stream.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)]
    .map(([, quoted = '""']) => JSON.parse(quoted) as string)
    .join('');
}
