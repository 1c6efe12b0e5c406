const MAX_VALUES = 3;
const MAX_CHARS = 120;

/**
 * The first plain values of a call's arguments on one line, such as `command rm -rf build`, so that a list of calls says
 * what each one was about. Empty if there are none.
 */
export function argumentLine(args: unknown): string {
  if (typeof args === 'string' || typeof args === 'number' || typeof args === 'boolean') return cut(String(args));
  if (typeof args !== 'object' || args === null) return '';
  const plain = Object.entries(args).filter(([, value]) => typeof value !== 'object' || value === null);
  return cut(
    plain
      .slice(0, MAX_VALUES)
      .map(([name, value]) => (Array.isArray(args) ? String(value) : `${name} ${String(value)}`))
      .join(', '),
  );
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= MAX_CHARS ? line : `${line.slice(0, MAX_CHARS - 1).toWellFormed()}…`;
}
