import type { Command } from '@agentlens/contracts';
import { type Msg, NoRespondersError, headers as newHeaders } from '@nats-io/nats-core';
import { context } from '@opentelemetry/api';
import { answerQuestion, encodeQuestion, readAnswer } from '../commands/command-wire.ts';
import { type BusLogger, CommandUnanswered, type Subscription } from '../event-bus.ts';
import { BackgroundWork } from '../util/in-flight.ts';
import { within } from '../util/promises.ts';
import { extractTrace, injectTrace } from '../util/telemetry.ts';
import type { NatsLink } from './nats-link.ts';
import { headersOf } from './stream-message.ts';

const DRAIN_MS = 1_000;

/** Sends a command over core NATS request/reply. */
export async function requestOverNats<Q, A>(link: NatsLink, command: Command<Q, A>, question: Q): Promise<A> {
  if (!link.connected)
    throw new CommandUnanswered(`${command.subject} was not sent: NATS is not connected`, { wasAsked: false });
  const headers = newHeaders();
  injectTrace(headers, (carrier, key, value) => carrier.set(key, value));
  const options = { timeout: command.deadlineMs, headers };
  let answer: Msg;
  try {
    answer = await link.connection.request(command.subject, encodeQuestion(question), options);
  } catch (error) {
    throw new CommandUnanswered(`${command.subject} was not answered within ${command.deadlineMs} ms`, {
      cause: error,
      wasAsked: !isUnheard(error),
      hasNoHandler: isUnheard(error),
    });
  }
  return readAnswer(command, answer.data);
}

/** The broker reports that no handler is subscribed. */
function isUnheard(error: unknown): boolean {
  return error instanceof Error && (error instanceof NoRespondersError || isUnheard(error.cause));
}

/** Handles a command. The queue group delivers each request to one of the handlers. */
export function serveOverNats<Q, A>(
  link: NatsLink,
  command: Command<Q, A>,
  handler: (question: Q) => Promise<A>,
  logger: BusLogger,
): Subscription {
  const running = new BackgroundWork();
  const answer = async (message: Msg): Promise<void> => {
    const caller = extractTrace(headersOf(message.headers));
    message.respond(await context.with(caller, () => answerQuestion(command, handler, message.data, logger)));
  };
  const subscription = link.connection.subscribe(command.subject, {
    queue: command.subject,
    callback: (error, message) => {
      if (error) {
        logger.error({ err: error, command: command.subject }, 'command subscription failed');
        return;
      }
      const work = answer(message).catch((failure) =>
        logger.warn({ err: failure, command: command.subject }, "sending a command's answer failed"),
      );
      running.add(work);
    },
  });
  return {
    close: async () => {
      await within(DRAIN_MS, subscription.drain());
      await running.ended();
    },
  };
}
