/** The name of a secret. Only the host's HTTP client knows its value, so it is in no prompt, event, history or cassette. */
export class Secret {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  toString(): string {
    return `[secret ${this.name}]`;
  }

  toJSON(): string {
    return this.toString();
  }
}

export function secret(name: string): Secret {
  return new Secret(name);
}

/** Where secrets come from; undefined: there is none of this name. */
export type SecretSource = (name: string) => string | undefined | Promise<string | undefined>;

export const environmentSecrets: SecretSource = (name) => process.env[name];
