import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';

/** Claims of the provider's accounts by subject; a test changes them between sign-ins. */
type Accounts = Record<string, Record<string, unknown>>;

interface ProviderOptions {
  readonly redirectUri: string;
  readonly accounts: Accounts;
  readonly jwks?: Configuration['jwks'];
  readonly port?: number;
  /** Replaces the ID tokens that it issues. */
  readonly alter?: (idToken: string) => Promise<string>;
  /** The issuer that its documents name, if it is not the address. */
  readonly names?: (address: string) => string;
}

export interface RealProvider {
  readonly issuer: string;
  readonly port: number;
  /** How often its public keys were read. */
  keyReads(): number;
  /** Signs in at the address as a browser does, and returns the address of the callback. */
  signIn(authorizeUrl: string, subject: string): Promise<URL>;
  close(): Promise<void>;
}

/** Starts the certified provider `oidc-provider` on a loopback port. */
export async function startProvider({
  redirectUri,
  accounts,
  jwks,
  port = 0,
  alter,
  names = (address) => address,
}: ProviderOptions): Promise<RealProvider> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: used } = server.address() as AddressInfo;
  const issuer = names(`http://127.0.0.1:${used}`);
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'agentlens',
        client_secret: 'client secret',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    findAccount: (_context, sub) =>
      accounts[sub] === undefined ? undefined : { accountId: sub, claims: async () => ({ sub, ...accounts[sub] }) },
    claims: {
      openid: ['sub', '_claim_names', '_claim_sources'],
      profile: ['name', 'groups', 'tid'],
      email: ['email', 'email_verified'],
    },
    features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
    ...(jwks === undefined ? {} : { jwks }),
    cookies: { keys: ['cookie secret of a test'] },
    pkce: { required: () => true },
  });
  if (alter !== undefined) {
    provider.use(async (context, next) => {
      await next();
      const answer = context.body as { id_token?: string } | undefined;
      if (context.path === '/token' && answer?.id_token !== undefined) answer.id_token = await alter(answer.id_token);
    });
  }
  let keyReads = 0;
  server.on('request', ({ url }) => {
    if (url === '/jwks') keyReads += 1;
  });
  server.on('request', provider.callback());
  return {
    issuer,
    port: used,
    keyReads: () => keyReads,
    signIn: (authorizeUrl, subject) => walk(authorizeUrl, subject, redirectUri),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const MAX_STEPS = 12;

/** Follows redirects and fills in the forms of the provider, with cookies. */
async function walk(start: string, subject: string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < MAX_STEPS; step++) {
    const answer: Response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    form = undefined;
    const location = answer.headers.get('location');
    const page = await answer.text();
    if (location !== null) {
      url = new URL(location, url).href;
      if (url.startsWith(redirectUri)) return new URL(url);
      continue;
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    const action = /action="([^"]+)"/.exec(page)?.[1];
    if (prompt === undefined || action === undefined)
      throw new Error(`the provider answered ${answer.status}: ${page.slice(0, 300)}`);
    url = new URL(action, url).href;
    form = new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: subject, password: 'any' } : {}) });
  }
  throw new Error('the provider never returned to the console');
}
