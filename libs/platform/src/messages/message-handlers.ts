import type { Command, Topic } from '@agentlens/contracts';
import type { BatchHandler, ConsumeOptions, EventBus, HandlingOutcome, Subscription } from '@agentlens/messaging';
import type { Type } from '@nestjs/common';
import {
  type CustomTransportStrategy,
  EventPattern,
  type MessageHandler,
  MessagePattern,
  Server,
} from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';

const EVENT_BUS_TRANSPORT = Symbol('EVENT_BUS_TRANSPORT');

/** Finds a provider of the application. */
type Find = <T>(type: Type<T>) => T;

interface CommandOptions {
  /** The command is served once this promise resolves. Default: as soon as the application listens. */
  readonly whenReady?: (find: Find) => Promise<unknown>;
}

interface CommandExtras extends CommandOptions {
  readonly command: Command<unknown, unknown>;
}

interface TopicExtras {
  readonly topic: Topic<unknown>;
  readonly options: ConsumeOptions;
}

/** Decorates a method of the given type; the compiler rejects any other. */
type DecoratorOf<H> = <M extends H>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/**
 * Makes a controller's method the handler of a command. Replicas of one service share the questions. An error that
 * the method throws, and no filter turns into an answer, is answered as an internal error.
 */
export function HandlesCommand<Q, A>(
  command: Command<Q, A>,
  options: CommandOptions = {},
): DecoratorOf<(question: Q) => Promise<A>> {
  const extras: CommandExtras = { command, ...options };
  return MessagePattern(command.subject, EVENT_BUS_TRANSPORT, extras);
}

/**
 * Makes a controller's method the handler of a topic for one consumer group, at least once and in batches: it returns
 * one outcome per message, in order. If it throws, the whole batch is redelivered with backoff.
 */
export function Consumes<T>(topic: Topic<T>, options: ConsumeOptions): DecoratorOf<BatchHandler<T>> {
  const extras: TopicExtras = { topic, options };
  return EventPattern(`${topic.name} ${options.group}`, EVENT_BUS_TRANSPORT, extras) as MethodDecorator;
}

/** Nest transport over the `EventBus` port: subscribes the decorated methods of all controllers. */
export class BusTransport extends Server implements CustomTransportStrategy {
  override readonly transportId = EVENT_BUS_TRANSPORT;
  /** Handlers that throw must reject here, so that the bus redelivers their batch. */
  override readonly propagatesEventHandlerErrors = true;
  readonly #bus: EventBus;
  readonly #find: Find;
  readonly #served: Subscription[] = [];
  readonly #consumed: Subscription[] = [];
  /** Commands whose subscription is being opened after their `whenReady`. */
  readonly #opening = new Set<Promise<void>>();
  #closed = false;

  constructor(bus: EventBus, find: Find) {
    super();
    this.#bus = bus;
    this.#find = find;
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await this.#listen();
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }

  /** Takes no more messages and waits for running handlers; commands last, because handlers of topics may send some. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#consumed.splice(0).map((subscription) => subscription.close()));
    await Promise.all(this.#opening);
    await Promise.all(this.#served.splice(0).map((subscription) => subscription.close()));
  }

  on(): void {}

  unwrap<T>(): T {
    return this.#bus as T;
  }

  async #listen(): Promise<void> {
    const handlers = [...this.messageHandlers.values()];
    for (const handler of handlers.filter(({ isEventHandler }) => !isEventHandler)) await this.#serve(handler);
    for (const handler of handlers.filter(({ isEventHandler }) => isEventHandler)) await this.#consume(handler);
  }

  async #serve(handler: MessageHandler): Promise<void> {
    const { command, whenReady } = handler.extras as CommandExtras;
    const open = async (): Promise<void> => {
      if (this.#closed) return;
      this.#served.push(await this.#bus.serve(command, (question) => answerOf(handler, question)));
    };
    if (whenReady === undefined) return open();
    whenReady(this.#find)
      .then(() => {
        const opening = open().finally(() => this.#opening.delete(opening));
        this.#opening.add(opening);
        return opening;
      })
      .catch((error: unknown) => this.logger.error(error, `command ${command.subject} not served`));
  }

  async #consume(handler: MessageHandler): Promise<void> {
    const { topic, options } = handler.extras as TopicExtras;
    const onBatch: BatchHandler<unknown> = async (messages) =>
      (await answerOf(handler, messages)) as readonly HandlingOutcome[];
    this.#consumed.push(await this.#bus.consume(topic, options, onBatch));
  }
}

/** @throws what the handler threw, unless a filter turned it into an answer */
async function answerOf(handler: MessageHandler, payload: unknown): Promise<unknown> {
  const answer: unknown = await handler(payload);
  return isObservable(answer) ? lastValueFrom(answer) : answer;
}
