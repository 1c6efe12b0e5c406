import type { Person } from '../api/model.ts';

export type Role = Person['grants'][number]['role'];

/** Roles, with what each may do. */
export const ROLES: readonly (readonly [Role, string])[] = [
  ['viewer', 'read'],
  ['approver', 'read, and vote on approvals'],
  ['operator', 'also pause, kill and resume'],
  ['editor', 'read, and change rules and budgets'],
  ['admin', 'everything'],
];

type Grant = Person['grants'][number];

/** `admin` or `approver for finance`. */
export function grantText({ role, team }: Pick<Grant, 'role' | 'team'>): string {
  return team === undefined ? role : `${role} for ${team}`;
}

/** Roles with their sources: from claims of the provider, or given by hand. */
export function Grants({ grants }: { grants: readonly Grant[] }) {
  if (grants.length === 0) return <span className="t3">no role</span>;
  return (
    <span className="tags">
      {grants.map((grant) => (
        <span
          key={`${grant.source} ${grantText(grant)}`}
          className={`tag ${grant.source === 'manual' ? 'acc' : ''}`}
          title={grant.source === 'manual' ? 'Given by hand' : 'From claims of the provider'}
        >
          {grantText(grant)}
          {grant.source === 'manual' && ', by hand'}
        </span>
      ))}
    </span>
  );
}

interface RoleFieldProps {
  readonly label: string;
  readonly value: string;
  /** Text of the choice without a role. */
  readonly none?: string;
  readonly onChange: (role: Role | undefined) => void;
}

export function RoleField({ label, value, none, onChange }: RoleFieldProps) {
  return (
    <select
      className="in"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(ROLES.find(([role]) => role === event.target.value)?.[0])}
    >
      {none !== undefined && <option value="">{none}</option>}
      {ROLES.map(([role, may]) => (
        <option key={role} value={role} title={may}>
          {role}
        </option>
      ))}
    </select>
  );
}

interface TeamFieldProps {
  readonly label: string;
  readonly value: string;
  readonly none: string;
  readonly teams: readonly { readonly id: string; readonly name: string }[];
  readonly onChange: (team: string | undefined) => void;
}

export function TeamField({ label, value, none, teams, onChange }: TeamFieldProps) {
  return (
    <select
      className="in"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
    >
      <option value="">{none}</option>
      {teams.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
