/** A condition that must hold after a fault. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** The expected value as text: `= 12000`, `<= 5000 ms`. */
  readonly wanted: string;
  readonly found: string;
  /** The check is about a duration, so a busy machine can fail it. */
  readonly ofTime?: true;
}

export function equal(name: string, wanted: number, found: number): Check {
  return { name, ok: wanted === found, wanted: `= ${wanted}`, found: String(found) };
}

export function atMost(name: string, limit: number, found: number, unit = ''): Check {
  return { name, ok: found <= limit, wanted: `<= ${shown(limit, unit)}`, found: shown(found, unit) };
}

/** At most this many milliseconds of a quiet machine. */
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

/** Two sets have the same members. Names a few that differ. */
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
