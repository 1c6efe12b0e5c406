import { type Limits, type Occupant, Places, type Room, type Share } from './places.ts';

/** What a claim may bring. */
export interface Asked {
  readonly limit: number;
  readonly room: Room;
  /** What the claim knows to be taken of each share. */
  readonly counts: ReadonlyMap<string, number>;
  /** Shares that were behind when it was asked: of those that fell behind since, it may not have seen who waits. */
  readonly behind: ReadonlySet<string>;
}

/**
 * The leases a lane holds, and for which shares more may wait in the table. What waits there goes before what is just
 * being recorded: else those who came first would wait for as long as others keep coming.
 */
export class Holdings {
  readonly #places: Places;
  /** Used up when the table was last looked at. */
  readonly #behind = new Map<string, Share>();

  constructor(limits: Limits) {
    this.#places = new Places(limits);
  }

  /** @param others leave out those whose shares are behind: the others may stand far back in their queues */
  ask({ others = false } = {}): Asked {
    const usedUp = others ? [...this.#behind.values()] : [];
    const counts = this.#places.counts();
    for (const { key, limit } of usedUp) counts.set(key, Math.max(limit, this.#places.count(key)));
    const behind = new Set(this.#behind.keys());
    return { limit: Math.max(0, this.#places.free), room: this.#places.room(usedUp), counts, behind };
  }

  /**
   * Keeps what a claim brought, also where places were given away meanwhile. A share is behind where the claim could not
   * have brought more of it: that is judged by what the claim knew, whoever left while it was on its way.
   *
   * @returns true where a share fell behind: what stands behind its queue was perhaps not reached
   */
  claimed({ counts, behind: before }: Asked, occupants: readonly Occupant[]): boolean {
    const told = new Map(counts);
    const behind = new Map(
      [...this.#behind].filter(([key, { limit }]) => !before.has(key) || (told.get(key) ?? 0) >= limit),
    );
    for (const occupant of occupants) {
      this.#places.add(occupant);
      for (const share of this.#places.sharesOf(occupant)) {
        const count = (told.get(share.key) ?? 0) + 1;
        told.set(share.key, count);
        if (count >= share.limit) behind.set(share.key, share);
      }
    }
    const fell = [...behind.keys()].some((key) => !this.#behind.has(key));
    this.#behind.clear();
    for (const [key, share] of behind) this.#behind.set(key, share);
    return fell;
  }

  /** False where it has to wait in the table. */
  reserve(occupant: Occupant): boolean {
    const shares = this.#places.sharesOf(occupant);
    if (shares.some(({ key }) => this.#behind.has(key))) return false;
    const usedUp = shares.filter(({ key, limit }) => this.#places.count(key) >= limit);
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
    for (const { key, limit } of this.#behind.values()) if (this.#places.count(key) <= limit / 2) return true;
    return false;
  }
}
