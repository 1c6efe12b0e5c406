import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DatabaseRole } from './database.ts';
import { withSchemaLock } from './with-schema-lock.ts';

export const DATABASE_ROLES: readonly DatabaseRole[] = [
  'ingest',
  'run-tracking',
  'guardrail-evaluator',
  'action-dispatcher',
  'backtester',
  'query',
  'model-gateway',
];

/** Read-only role that sees one tenant at a time, the one set in `agentlens.tenant`. */
export const READER_ROLE = 'agentlens_reader';

/** The Postgres role of a service. Roles are server-wide, so the name contains the product. */
export function roleName(role: DatabaseRole): string {
  return `agentlens_${role.replaceAll('-', '_')}`;
}

const ITERATIONS = 4096;
const KEY_BYTES = 32;

/**
 * Password verifier in the form that Postgres stores (RFC 5803). Sent instead of the password, which would appear in
 * the server's log if the statement failed. The password must be ASCII, because it is not normalized.
 */
function scramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const keyFor = (use: string) => createHmac('sha256', salted).update(use).digest();
  const storedKey = createHash('sha256').update(keyFor('Client Key')).digest('base64');
  const serverKey = keyFor('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** A service without a password keeps its current one. */
export type ServicePasswords = Readonly<Partial<Record<DatabaseRole, string>>>;

const SALT_BYTES = 16;

const TOO_MIGHTY = `select rolname from pg_roles
  where rolname = any($1) and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)`;

const MEMBERSHIPS = `select member.rolname as member, granted.rolname as granted from pg_auth_members m
  join pg_roles member on member.oid = m.member join pg_roles granted on granted.oid = m.roleid
  where member.rolname = any($1) order by 1, 2`;

/**
 * Lets services log in as their own roles with these passwords. They cannot assume other roles, except that `query` may
 * read as one tenant. Calling it again changes the passwords. The login of `url` must own the database and have created
 * the roles, or administer them; the database must be migrated.
 * @throws if a role has more privileges than its service needs; nothing is changed then
 */
export async function grantLogins(url: string, passwords: ServicePasswords): Promise<void> {
  const logins = Object.entries(passwords).map(([service, password]) => ({
    role: roleName(service as DatabaseRole),
    password,
  }));
  if (logins.length === 0) return;
  const roles = logins.map(({ role }) => role);
  await withSchemaLock(url, async (pool) => {
    await refuseMoreThanTheirOwn(pool, roles);
    const statements = logins.map(
      ({ role, password }) =>
        `alter role ${pg.escapeIdentifier(role)} login password ${pg.escapeLiteral(scramVerifier(password, randomBytes(SALT_BYTES)))}`,
    );
    if (passwords.query !== undefined) statements.push(`grant ${READER_ROLE} to ${roleName('query')}`);
    // Several statements in one message form one transaction.
    await pool.query(statements.join(';\n'));
  });
}

async function refuseMoreThanTheirOwn(pool: pg.Pool, roles: readonly string[]): Promise<void> {
  const mighty = await pool.query<{ rolname: string }>(TOO_MIGHTY, [roles]);
  const memberships = await pool.query<{ member: string; granted: string }>(MEMBERSHIPS, [roles]);
  const problems = [
    ...mighty.rows.map(
      ({ rolname }) =>
        `${rolname} has more privileges than a service needs. Run: ` +
        `alter role ${rolname} nosuperuser nocreaterole nocreatedb noreplication nobypassrls`,
    ),
    ...memberships.rows
      .filter(({ member, granted }) => !(member === roleName('query') && granted === READER_ROLE))
      .map(({ member, granted }) => `${member} is a member of ${granted}. Run: revoke ${granted} from ${member}`),
  ];
  if (problems.length === 0) return;
  throw new Error(`The services' database logins were not created:\n  ${problems.join('\n  ')}`);
}
