/** A voter, and the people whose place the vote can fill: the voter's own, or those of people who named a deputy. */
export interface Sitter {
  readonly id: string;
  readonly seats: readonly string[];
}

/**
 * Counts how many of them count at once, each in another seat. Without this, a person and the deputy of that person, or
 * two deputies of the same person, would be two of the people that a policy demands.
 */
export function countSeats(sitters: readonly Sitter[]): number {
  const takenBy = new Map<string, Sitter>();
  /** Takes a free seat, or one whose sitter can move. `tried` holds seats that this search has looked at. */
  function sit(sitter: Sitter, tried: Set<string>): boolean {
    for (const seat of sitter.seats) {
      if (tried.has(seat)) continue;
      tried.add(seat);
      const before = takenBy.get(seat);
      if (before !== undefined && !sit(before, tried)) continue;
      takenBy.set(seat, sitter);
      return true;
    }
    return false;
  }
  return sitters.filter((sitter) => sit(sitter, new Set())).length;
}
