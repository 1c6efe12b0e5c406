/** How much of a value is kept: characters of each text, members of each array and object, levels of nesting. */
export interface Lengths {
  readonly characters: number;
  readonly members: number;
  readonly levels: number;
}

interface Shortened {
  readonly value: unknown;
  readonly cut: boolean;
}

/** `value`, a JSON value, with what is longer than `lengths` cut off. Each cut says how much is missing. */
export function shorten(value: unknown, lengths: Lengths): Shortened {
  let cut = false;
  const visit = (part: unknown, level: number): unknown => {
    if (typeof part === 'string') {
      if (part.length <= lengths.characters) return part;
      cut = true;
      return `${part.slice(0, lengths.characters).toWellFormed()}… (${part.length - lengths.characters} more characters)`;
    }
    if (typeof part !== 'object' || part === null) return part;
    const members = Object.entries(part);
    if (level >= lengths.levels && members.length > 0) {
      cut = true;
      return `… (${members.length} members)`;
    }
    const kept = members.slice(0, lengths.members).map(([key, member]) => [key, visit(member, level + 1)] as const);
    const missing = members.length - kept.length;
    if (missing > 0) cut = true;
    if (Array.isArray(part)) {
      const items = kept.map(([, item]) => item);
      return missing > 0 ? [...items, `… (${missing} more)`] : items;
    }
    const shown = kept.map(([key, member]) => [visit(key, level), member] as const);
    return Object.fromEntries(missing > 0 ? [...shown, ['…', `${missing} more`]] : shown);
  };
  return { value: visit(value, 0), cut };
}
