/** Something a fault must not have broken. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What had to be, in words: `= 12000`, `<= 5000 ms`. */
  readonly wanted: string;
  readonly found: string;
  /** How long something took: a busy machine can fail it. */
  readonly ofTime?: true;
}

export function equal(name: string, wanted: number, found: number): Check {
  return { name, ok: wanted === found, wanted: `= ${wanted}`, found: String(found) };
}

export function atMost(name: string, limit: number, found: number, unit = ''): Check {
  return { name, ok: found <= limit, wanted: `<= ${shown(limit, unit)}`, found: shown(found, unit) };
}

/** At most so many milliseconds of a quiet machine. */
export function withinMs(name: string, limitMs: number, foundMs: number, slowness: number): Check {
  const ok = foundMs <= limitMs * slowness;
  const wanted = `<= ${shown(limitMs, 'ms')} x ${slowness.toFixed(1)}`;
  return { name, ok, wanted, found: shown(foundMs, 'ms'), ofTime: true };
}

export function atLeast(name: string, limit: number, found: number, unit = ''): Check {
  return { name, ok: found >= limit, wanted: `>= ${shown(limit, unit)}`, found: shown(found, unit) };
}

export function holds(name: string, ok: boolean, found: string, wanted = 'yes'): Check {
  return { name, ok, wanted, found };
}

/** Two sets with the same members; names a few that are not. */
export function sameMembers(name: string, wanted: Iterable<string>, found: Iterable<string>): Check {
  const [left, right] = [new Set(wanted), new Set(found)];
  const missing = [...left].filter((member) => !right.has(member));
  const extra = [...right].filter((member) => !left.has(member));
  const examples = [...missing.slice(0, 2).map((one) => `no ${one}`), ...extra.slice(0, 2)].join(', ');
  return {
    name,
    ok: missing.length === 0 && extra.length === 0,
    wanted: `the same ${left.size}`,
    found: `${right.size}, ${missing.length} missing, ${extra.length} extra${examples === '' ? '' : `: ${examples}`}`,
  };
}

function shown(value: number, unit: string): string {
  return `${Number.isInteger(value) ? value : value.toFixed(1)}${unit === '' ? '' : ` ${unit}`}`;
}
