import type { AnswerOf, DefineCommand } from '../../context.ts';
import { askModel, failedCall, readErrorMessage, withModelKey } from './model-calls.ts';

type ConnectionAnswer = AnswerOf<'listModelConnections'>['connections'][number];

/** Cheap models, for connections that allow all. */
const MODELS: Readonly<Record<ConnectionAnswer['dialect'], string>> = {
  anthropic: 'claude-haiku-4-5',
  openai: 'gpt-4.1-nano',
  gemini: 'gemini-2.5-flash-lite',
};

const AGENT = 'gateway-doctor';

/** Sends one call of a few tokens over each connection. */
export const checkConnections: DefineCommand = (command, context) => {
  command
    .option('--connection <name>', 'check only this connection')
    .option('--model <name>', 'the model to call; default: a cheap one')
    .action(async ({ connection: only, model }) => {
      const { connections } = await (await context.connect()).listModelConnections();
      const chosen = connections.filter(({ name }) => only === undefined || name === only);
      if (chosen.length === 0)
        throw failedCall(only === undefined ? 'There are no connections.' : `There is no connection ${only}.`);
      const results = await withModelKey(context, AGENT, async (key) => {
        const checked = [];
        for (const { name, dialect, models } of chosen) {
          const allowed = models?.find((one) => !one.includes('*'));
          const asked = model ?? allowed ?? MODELS[dialect];
          const answer = await askModel(context, { connection: name, dialect, key, model: asked, maxTokens: 16 });
          const problem = await findProblem(answer);
          checked.push({ connection: name, model: asked, status: answer.status, problem });
        }
        return checked;
      });
      context.output.print(results, () =>
        results
          .map(({ connection, model: asked, problem }) => `${connection}: ${problem ?? `${asked} answers`}`)
          .join('\n'),
      );
      if (results.some(({ problem }) => problem !== undefined)) throw failedCall('Not every connection works.');
    });
};

/** An answer of the fallback says nothing good about the connection itself. */
async function findProblem(answer: Response): Promise<string | undefined> {
  if (!answer.ok) return readErrorMessage(answer);
  await answer.arrayBuffer();
  const fallback = answer.headers.get('x-agentlens-connection');
  return fallback === null ? undefined : `gives no answer. Its fallback ${fallback} answered`;
}
