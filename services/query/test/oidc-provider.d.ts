/** The part of `oidc-provider` that the specs use; the package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Account {
    readonly accountId: string;
    claims(): Promise<Record<string, unknown>>;
  }

  export interface Configuration {
    readonly clients: readonly object[];
    readonly findAccount: (context: unknown, sub: string) => Account | undefined;
    readonly claims: Readonly<Record<string, readonly string[]>>;
    readonly features: Readonly<Record<string, { readonly enabled: boolean }>>;
    readonly jwks?: { readonly keys: readonly object[] };
    readonly cookies: { readonly keys: readonly string[] };
    readonly pkce: { required(): boolean };
  }

  export default class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): RequestListener;
    use(
      middleware: (context: { readonly path: string; body: unknown }, next: () => Promise<void>) => Promise<void>,
    ): void;
  }
}
