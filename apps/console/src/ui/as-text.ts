/** Any value as text: a text as it is, everything else as JSON writes it. */
export function asText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
