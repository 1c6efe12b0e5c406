/** A running installation, as far as a backup needs it. Each call has been done when its promise is settled. */
export interface Deployment {
  readonly title: string;
  /** The version of the images. */
  readVersion(): Promise<string>;
  /** Sends SQL to the bundled Postgres as the owner of the database. Returns rows as text, columns separated by "|". */
  query(sql: string): Promise<string>;
  dumpDatabase(toFile: string): Promise<void>;
  restoreDatabase(fromFile: string): Promise<void>;
  saveStreams(toFile: string): Promise<void>;
  loadStreams(fromFile: string): Promise<void>;
  readSecretKey(): Promise<string>;
  writeSecretKey(key: string): Promise<void>;
  /** Ends all that writes to Postgres and NATS, and the edge. */
  stopServices(): Promise<void>;
  startServices(): Promise<void>;
}

export const DUMP = ['pg_dump', '-U', 'agentlens', '--format=custom', 'agentlens'];
const PSQL_COMMAND = 'psql -U agentlens -d agentlens -qAt -v ON_ERROR_STOP=1 -f -';
/**
 * All or nothing, in one transaction. The schema goes first, because `pg_restore --clean` cannot drop the constraints of
 * partitions; it is made again as a new database has it.
 */
export const RESTORE = [
  'sh',
  '-c',
  `{ echo 'begin; drop schema public cascade; create schema public authorization pg_database_owner; grant usage on schema public to public;'
     if pg_restore --file=-; then echo 'commit;'; else echo 'the dump is not complete;'; fi; } | ${PSQL_COMMAND} >/dev/null`,
];
export const PSQL = PSQL_COMMAND.split(' ');
export const READ_VERSION = ['node', '-p', "require('/app/package.json').version"];

/** Neither reads nor writes what is restored until it is asked, so it goes on running and carries the work on the streams. */
export const HELPER = 'backtester';

/**
 * The hidden command `streams-save` or `streams-load` in the helper, as the user that owns the streams. Its password is the
 * first line of standard input, so that no list of processes shows it.
 */
export function buildStreamCommand(word: 'save' | 'load'): readonly string[] {
  const script =
    'IFS= read -r NATS_PASSWORD; export NATS_PASSWORD; ' +
    `NATS_URL=$(printf %s "$NATS_URL" | sed 's#://[^@]*@#://agentlens@#g') ` +
    `exec node cli/bin/agentlens.js streams-${word}`;
  return ['sh', '-c', script];
}
