import { ALL, type CapacityLimit, type Limits, type Occupant, type Room, Slots, type Stretch } from './slots.ts';

/** What a claim may bring. */
interface ClaimRequest {
  readonly limit: number;
  readonly room: Room;
  /** The same by share: what the claim was told to be free. */
  readonly told: ReadonlyMap<string, Told>;
}

interface Told {
  readonly share: CapacityLimit;
  readonly free: number;
}

/** A claim looks through several times as many rows as it may bring, whether or not they are there to be brought. */
const MOST_AT_ONCE = 128;

/**
 * The leases a lane holds, and for which shares more may wait in the table. What waits there goes before what is just
 * being recorded: else those who came first would wait for as long as others keep coming.
 *
 * A share is *behind* while somebody may wait for it that no claim will meet: since one was refused, or since a claim
 * could not have brought more of it. Only a claim that could have and did not says that nobody waits. It may have missed
 * one whose transaction had not ended: whoever writes a delivery that was refused has a claim made after the commit.
 */
export class LeaseBook {
  readonly #places: Slots;
  #behind = new Map<string, CapacityLimit>();

  constructor(limits: Limits, stretch?: Stretch) {
    this.#places = new Slots(limits, stretch);
  }

  /** Leases that are held. */
  get size(): number {
    return this.#places.count(ALL.key);
  }

  /** @param others leave out those whose shares are behind: the others may stand far back in their queues */
  ask({ others = false } = {}): ClaimRequest {
    const limit = Math.min(MOST_AT_ONCE, Math.max(0, this.#places.free));
    const told = new Map<string, Told>();
    for (const share of [...this.#places.taken, ...this.#behind.values()]) {
      const free = others && this.#behind.has(share.key) ? 0 : this.#places.freeOf(share);
      told.set(share.key, { share, free });
    }
    told.set(ALL.key, { share: ALL, free: limit });
    return { limit, told, room: this.#places.room(told.values()) };
  }

  /**
   * Keeps what a claim brought, also where places were given away meanwhile. What the claim could have brought is judged
   * by what it was told, whoever came or left while it was on its way.
   *
   * @returns true where a share fell behind: what stands behind its queue was perhaps not reached
   */
  claimed({ told }: ClaimRequest, occupants: readonly Occupant[]): boolean {
    const left = new Map(told);
    for (const occupant of occupants) {
      this.#places.add(occupant);
      for (const share of this.#places.sharesOf(occupant)) {
        const free = left.get(share.key)?.free ?? this.#places.plainLimitOf(share.kind);
        left.set(share.key, { share, free: free - 1 });
      }
    }
    const before = this.#behind;
    this.#behind = new Map();
    for (const [key, { share, free }] of left) if (free <= 0) this.#behind.set(key, share);
    return [...this.#behind.keys()].some((key) => !before.has(key));
  }

  /** False where it has to wait in the table. */
  reserve(occupant: Occupant): boolean {
    const shares = this.#places.sharesOf(occupant);
    if (shares.some(({ key }) => this.#behind.has(key))) return false;
    const usedUp = shares.filter((share) => this.#places.freeOf(share) <= 0);
    for (const share of usedUp) this.#behind.set(share.key, share);
    if (usedUp.length > 0) return false;
    this.#places.add(occupant);
    return true;
  }

  giveBack(occupant: Occupant): void {
    this.#places.leave(occupant);
  }

  /** True where somebody may wait for a share of which half is free again: fetching one by one would cost a claim each. */
  get wanting(): boolean {
    for (const share of this.#behind.values()) {
      if (this.#places.count(share.key) <= this.#places.limitOf(share) / 2) return true;
    }
    return false;
  }
}
