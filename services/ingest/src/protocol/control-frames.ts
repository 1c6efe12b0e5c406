import {
  advance,
  type ControlBoard,
  type ControlItem,
  type ControlPosition,
  formatPosition,
  START_POSITION,
} from '@agentlens/platform';

/** One instruction on its way to an SDK: `id` is where the client stands once it has it. */
export interface ControlFrame {
  readonly kind: ControlItem['kind'];
  readonly id: string;
  readonly value: ControlItem['value'];
}

/** Numbers instructions for one client, so that it can come back to any instance and go on from there. */
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

  /** What was lifted before this client began is nothing to it; it stands behind that as well. */
  skipTo(position: ControlPosition): void {
    this.#position = {
      orders: Math.max(this.#position.orders, position.orders),
      directives: Math.max(this.#position.directives, position.directives),
      issuedAtMs: Math.max(this.#position.issuedAtMs, position.issuedAtMs),
    };
  }
}

/** Who listens for an agent. */
interface Audience {
  readonly tenantId: string;
  readonly agentId: string;
  /** False for orders about runs of agents that its key is not bound to. */
  readonly mayHear: (item: ControlItem) => boolean;
}

/** Everything a client has to be told now, after which it stands behind everything. */
export function backlog(
  board: ControlBoard,
  { tenantId, agentId, mayHear }: Audience,
  after: ControlPosition | undefined,
): { readonly frames: ControlFrames; readonly items: readonly ControlFrame[] } {
  const frames = new ControlFrames(after);
  const told = board.itemsFor(tenantId, agentId, after).filter(mayHear);
  const items = told.map((item) => frames.of(item));
  frames.skipTo(board.positionOf(tenantId, agentId));
  return { frames, items };
}
