import { ACTIONS } from '@agentlens/guardrails';

/** The value of an environment variable. */
export type EnvLookup = (name: string) => string | undefined;

type Path = readonly (string | number)[];

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

interface Resolved {
  readonly value: Record<string, unknown>;
  /** Where references stood. */
  readonly references: readonly Path[];
  readonly missing: readonly { readonly path: Path; readonly name: string }[];
}

/**
 * A rule with each `${env:NAME}` of its texts replaced.
 * @param env undefined: by something that is valid in its place, and no secret
 */
export function resolveReferences(rule: Readonly<Record<string, unknown>>, env: EnvLookup | undefined): Resolved {
  const references: Path[] = [];
  const missing: { path: Path; name: string }[] = [];
  const lookup = (path: Path) => (_: string, name: string) => {
    if (env === undefined) return standIn(rule, path);
    const value = env(name);
    if (value === undefined) missing.push({ path, name });
    return value ?? '';
  };
  const walk = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const text = value.replace(REFERENCE, lookup(path));
      if (value.search(REFERENCE) >= 0) references.push(path);
      return text;
    }
    if (Array.isArray(value)) return value.map((item, at) => walk(item, [...path, at]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner, [...path, key])]));
  };
  return { value: walk(rule, []) as Record<string, unknown>, references, missing };
}

/** A signing secret of the right form that everybody knows. */
const KNOWN_SECRET = `whsec_${'A'.repeat(32)}`;

function standIn({ actionType }: Readonly<Record<string, unknown>>, path: Path): string {
  const [config, field] = path;
  const action = typeof actionType === 'string' ? ACTIONS.get(actionType) : undefined;
  if (config !== 'actionConfig' || action === undefined) return 'from-the-environment';
  if (action.addresses.includes(String(field))) return 'https://environment.invalid';
  return field === 'secret' ? KNOWN_SECRET : 'from-the-environment';
}
