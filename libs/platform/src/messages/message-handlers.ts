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

interface ReadyOptions {
  /** Messages are handled once this promise resolves. Default: as soon as the application listens. */
  readonly whenReady?: (find: Find) => Promise<unknown>;
}

interface CommandExtras extends ReadyOptions {
  readonly command: Command<unknown, unknown>;
}

interface TopicExtras extends ReadyOptions {
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
  options: ReadyOptions = {},
): DecoratorOf<(question: Q) => Promise<A>> {
  const extras: CommandExtras = { command, ...options };
  return MessagePattern(command.subject, EVENT_BUS_TRANSPORT, extras);
}

/**
 * Makes a controller's method the handler of a topic for one consumer group, at least once and in batches: it returns
 * one outcome per message, in order. If it throws, the whole batch is redelivered with backoff.
 */
export function Consumes<T>(
  topic: Topic<T>,
  { whenReady, ...options }: ConsumeOptions & ReadyOptions,
): DecoratorOf<BatchHandler<T>> {
  const extras: TopicExtras = { topic, options, ...(whenReady && { whenReady }) };
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
  /** Subscriptions that are being opened after their `whenReady`. */
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
    await Promise.all(this.#opening);
    await Promise.all(this.#consumed.splice(0).map((subscription) => subscription.close()));
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
    await this.#openWhenReady(whenReady, command.subject, async () => {
      this.#served.push(await this.#bus.serve(command, (question) => answerOf(handler, question)));
    });
  }

  async #consume(handler: MessageHandler): Promise<void> {
    const { topic, options, whenReady } = handler.extras as TopicExtras;
    const onBatch: BatchHandler<unknown> = async (messages) =>
      (await answerOf(handler, messages)) as readonly HandlingOutcome[];
    await this.#openWhenReady(whenReady, topic.name, async () => {
      this.#consumed.push(await this.#bus.consume(topic, options, onBatch));
    });
  }

  /** Waits only for handlers that are ready already; the others open later. */
  async #openWhenReady(whenReady: ReadyOptions['whenReady'], name: string, open: () => Promise<void>): Promise<void> {
    if (whenReady === undefined) return open();
    const opened = whenReady(this.#find).then(async () => {
      if (this.#closed) return;
      const opening = open().finally(() => this.#opening.delete(opening));
      this.#opening.add(opening);
      await opening;
    });
    const reported = opened.catch((error: unknown) => this.logger.error(error, `subscribing to ${name} failed`));
    await Promise.race([reported, new Promise((resolve) => setImmediate(resolve))]);
    await Promise.all(this.#opening);
  }
}

/** @throws what the handler threw, unless a filter turned it into an answer */
async function answerOf(handler: MessageHandler, payload: unknown): Promise<unknown> {
  const answer: unknown = await handler(payload);
  return isObservable(answer) ? lastValueFrom(answer) : answer;
}
