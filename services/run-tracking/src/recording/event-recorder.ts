import { type AgentEvent, type EventBatch, factsOfMessage } from '@agentlens/contracts';
import { ACK, backOff, type HandlingOutcome, type Received, UnreadableMessage } from '@agentlens/messaging';
import { databaseFault, faultText } from './database-fault.ts';
import { chunkOf, type EventChunk, type EventStore, type RecordedEvents } from './event-store.ts';

/** About 5 ms in Postgres. Larger statements gain little and hold locks longer. */
const CHUNK_EVENTS = 1_000;
const CHUNK_BYTES = 4 * 1024 * 1024;
const CONFLICT_RETRIES = 5;

type Message = Received<EventBatch>;

/** One event of one message, while the recorder looks for the one that cannot be stored. */
interface Piece {
  readonly message: Message;
  readonly event: AgentEvent;
}

interface RecorderDependencies {
  readonly store: Pick<EventStore, 'record'>;
  /** Called before a chunk is stored, with the days of its events. */
  readonly prepareDays: (days: ReadonlySet<string>) => Promise<void>;
  /** Called after each commit. */
  readonly onRecorded: (recorded: RecordedEvents) => void;
  readonly onPoison: (reason: string) => void;
  readonly onAway: (error: unknown) => void;
}

/** Stores the events of messages and returns one outcome per message. */
export class EventRecorder {
  constructor(private readonly parts: RecorderDependencies) {}

  async record(messages: readonly Message[]): Promise<readonly HandlingOutcome[]> {
    const outcomes = new Map<Message, HandlingOutcome>();
    for (const group of chunked(messages)) {
      try {
        const faults = await this.#recordGroup(group);
        for (const message of group) outcomes.set(message, outcomeFor(faults.get(message)));
      } catch (error) {
        this.parts.onAway(error);
        for (const message of group) outcomes.set(message, notNow(message));
      }
    }
    return messages.map((message) => outcomes.get(message) ?? notNow(message));
  }

  /** @returns reasons for messages with an event that cannot be stored. @throws while the database is unavailable */
  async #recordGroup(group: readonly Message[]): Promise<ReadonlyMap<Message, string>> {
    const faults = new Map<Message, string>();
    await this.parts.prepareDays(new Set(group.flatMap((message) => factsOfMessage(message).days)));
    if (await this.#fits(rawChunk(group))) return faults;
    await this.#bisect(this.#piecesOf(group, faults), faults);
    return faults;
  }

  /** Events of readable messages; the others are added to `faults`. */
  #piecesOf(group: readonly Message[], faults: Map<Message, string>): Piece[] {
    return group.flatMap((message) => {
      try {
        return message.value.events.map((event) => ({ message, event }));
      } catch (error) {
        if (!(error instanceof UnreadableMessage)) throw error;
        faults.set(message, error.message);
        this.parts.onPoison(error.message);
        return [];
      }
    });
  }

  /**
   * Bisects until the invalid event is alone, so that every other is stored: about 2 log2 n statements per invalid
   * event.
   */
  async #bisect(pieces: readonly Piece[], faults: Map<Message, string>): Promise<void> {
    const [first] = pieces;
    if (first === undefined) return;
    if (pieces.length === 1) {
      const reason = await this.#faultOf(first);
      if (reason === undefined) return;
      faults.set(first.message, faults.get(first.message) ?? reason);
      this.parts.onPoison(reason);
      return;
    }
    const middle = Math.ceil(pieces.length / 2);
    for (const half of [pieces.slice(0, middle), pieces.slice(middle)]) {
      if (half.length === 1 || !(await this.#fits(() => chunkOf(batchesOf(half))))) await this.#bisect(half, faults);
    }
  }

  async #faultOf(piece: Piece): Promise<string | undefined> {
    try {
      await this.#commit(chunkOf(batchesOf([piece])));
      return undefined;
    } catch (error) {
      if (databaseFault(error) !== 'data') throw error;
      return faultText('event', piece.event.id, error);
    }
  }

  async #fits(chunk: () => EventChunk): Promise<boolean> {
    try {
      await this.#commit(chunk());
      return true;
    } catch (error) {
      if (databaseFault(error) === 'data') return false;
      throw error;
    }
  }

  async #commit(chunk: EventChunk): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.parts.onRecorded(await this.parts.store.record(chunk));
        return;
      } catch (error) {
        if (databaseFault(error) !== 'again' || attempt === CONFLICT_RETRIES) throw error;
      }
    }
  }
}

function outcomeFor(fault: string | undefined): HandlingOutcome {
  return fault === undefined ? ACK : { kind: 'poison', reason: fault };
}

function notNow({ attempt }: Message): HandlingOutcome {
  return { kind: 'retry', afterMs: backOff(attempt), reason: 'the database does not take events at the moment' };
}

/** Groups whole messages, in order, up to the size of one statement. */
function chunked(messages: readonly Message[]): Message[][] {
  const chunks: Message[][] = [];
  let events = 0;
  let bytes = 0;
  for (const message of messages) {
    events += factsOfMessage(message).events;
    bytes += message.raw.byteLength;
    const open = chunks.at(-1);
    if (open !== undefined && events <= CHUNK_EVENTS && bytes <= CHUNK_BYTES) {
      open.push(message);
    } else {
      chunks.push([message]);
      events = factsOfMessage(message).events;
      bytes = message.raw.byteLength;
    }
  }
  return chunks;
}

/** Uses the bytes of the messages: encoding the events again would cost more than everything else here. */
function rawChunk(group: readonly Message[]): () => EventChunk {
  return () => ({
    batches: group.map(({ raw }) => raw),
    eventCount: group.reduce((sum, message) => sum + factsOfMessage(message).events, 0),
    redelivered: group.some(({ attempt }) => attempt > 1),
  });
}

function batchesOf(pieces: readonly Piece[]): EventBatch[] {
  const byMessage = Map.groupBy(pieces, ({ message }) => message);
  return [...byMessage].map(([{ value }, own]) => ({ ...value, events: own.map(({ event }) => event) }));
}
