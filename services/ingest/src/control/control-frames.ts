import {
  advance,
  type ControlBoard,
  type ControlItem,
  type ControlPosition,
  formatPosition,
  START_POSITION,
} from '@agentlens/platform';

/** One instruction for an SDK. `id` is the client's position after it. */
export interface ControlFrame {
  readonly kind: ControlItem['kind'];
  readonly id: string;
  readonly value: ControlItem['value'];
}

/** Numbers instructions for one client, so that it can resume on any instance. */
class ControlFrames {
  #position: ControlPosition;

  constructor(after: ControlPosition | undefined) {
    this.#position = after ?? START_POSITION;
  }

  get id(): string {
    return formatPosition(this.#position);
  }

  of(item: ControlItem): ControlFrame {
    this.#position = advance(this.#position, item);
    return { kind: item.kind, id: this.id, value: item.value };
  }

  /** Skips what was lifted before this client started; its position moves past that too. */
  skipTo(position: ControlPosition): void {
    this.#position = {
      orders: Math.max(this.#position.orders, position.orders),
      directives: Math.max(this.#position.directives, position.directives),
      issuedAtMs: Math.max(this.#position.issuedAtMs, position.issuedAtMs),
    };
  }
}

/** The listener of an agent. */
interface Audience {
  readonly tenantId: string;
  readonly agentId: string;
  /** Returns false for orders about runs of agents that its key is not bound to. */
  readonly mayReceive: (item: ControlItem) => boolean;
}

/** Returns everything a client has missed, and moves its position past everything. */
export function backlog(
  board: ControlBoard,
  { tenantId, agentId, mayReceive }: Audience,
  after: ControlPosition | undefined,
): { readonly frames: ControlFrames; readonly items: readonly ControlFrame[] } {
  const frames = new ControlFrames(after);
  const missed = board.itemsFor(tenantId, agentId, after).filter(mayReceive);
  const items = missed.map((item) => frames.of(item));
  frames.skipTo(board.positionOf(tenantId, agentId));
  return { frames, items };
}
