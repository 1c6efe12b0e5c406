/** Query of the URL as names and values: no JSON, lists with commas, empty values omitted. */
export type Search = Readonly<Record<string, string>>;

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const present = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  if (present.length === 0) return '';
  const pairs = present.map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`,
  );
  return `?${pairs.join('&')}`;
}

/** Keeps the names that a page knows and drops the others. */
export function knowing<const N extends string>(...names: readonly N[]) {
  return (search: Readonly<Record<string, unknown>>): { [K in N]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as { [K in N]?: string };
}

export function list(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.split(',');
}

/** Adds the value, or removes it. Undefined: an empty list. */
export function toggled(text: string | undefined, value: string): string | undefined {
  const values = list(text);
  const next = values.includes(value) ? values.filter((one) => one !== value) : [...values, value];
  return next.length === 0 ? undefined : next.join(',');
}
