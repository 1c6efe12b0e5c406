import { type Command, detailsOf, type Problem, utf8Text } from '@agentlens/contracts';
import { type BusLogger, CommandUnanswered } from '../event-bus.ts';

const refusal = (problem: Problem): Uint8Array => Buffer.from(JSON.stringify({ ok: false, problem }));

export function encodeQuestion(question: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(question));
}

/**
 * Handles an encoded request. Never rejects: an invalid request yields 400, a handler that throws yields an internal
 * error.
 */
export async function answerQuestion<Q, A>(
  command: Command<Q, A>,
  handler: (question: Q) => Promise<A>,
  bytes: Uint8Array,
  logger: BusLogger,
): Promise<Uint8Array> {
  try {
    const question = command.request.safeParse(JSON.parse(utf8Text(bytes)));
    if (!question.success) {
      return refusal({ error: 'The command is not valid', status: 400, details: detailsOf(question.error) });
    }
    return Buffer.from(JSON.stringify(await handler(question.data)));
  } catch (error) {
    logger.error({ err: error, command: command.subject }, 'command handler threw');
    return refusal({ error: 'Internal error', status: 500 });
  }
}

/**
 * Decodes a response.
 * @throws CommandUnanswered if the response is not valid for this command
 */
export function readAnswer<Q, A>(command: Command<Q, A>, bytes: Uint8Array): A {
  let json: unknown;
  try {
    json = JSON.parse(utf8Text(bytes));
  } catch (error) {
    throw new CommandUnanswered(`the answer to ${command.subject} is not JSON`, { cause: error });
  }
  const answer = command.answer.safeParse(json);
  if (answer.success) return answer.data;
  throw new CommandUnanswered(`the answer to ${command.subject} does not match its schema`, { cause: answer.error });
}
