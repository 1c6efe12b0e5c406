/** Variables that programs need to find themselves, their configuration and the network. No credentials. */
const PASSED_ON = new Set(
  [
    ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TZ', 'LANG', 'LANGUAGE', 'TMPDIR', 'TMP', 'TEMP'],
    ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
    ...[
      'SYSTEMROOT',
      'SYSTEMDRIVE',
      'WINDIR',
      'COMSPEC',
      'PATHEXT',
      'USERNAME',
      'USERPROFILE',
      'HOMEDRIVE',
      'HOMEPATH',
    ],
    ...['APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'PROCESSOR_ARCHITECTURE'],
  ].map((name) => name.toLowerCase()),
);
const PASSED_ON_PREFIXES = /^(?:lc_|xdg_)/i;
const OWN = /^agentlens_/i;

type Environment = Readonly<Record<string, string | undefined>>;

/** Environment of a guarded program: an allow-list plus the variables named by `also`. */
export function childEnvironment(env: Environment, also: readonly string[] = []): Record<string, string> {
  const passes = (name: string) =>
    PASSED_ON.has(name.toLowerCase()) || PASSED_ON_PREFIXES.test(name) || also.includes(name);
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && passes(entry[0])),
  );
}

/** The environment without AgentLens's own variables. With the key, an agent could approve its own calls. */
export function withoutOwnVariables(env: Environment): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !OWN.test(name)));
}
