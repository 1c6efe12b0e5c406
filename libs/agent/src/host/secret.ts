/**
 * Name of a secret. Only the host's HTTP client knows its value, so no prompt, event, history or cassette contains it.
 */
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

/** Source of secrets; undefined if there is no secret of this name. */
export type SecretSource = (name: string) => string | undefined | Promise<string | undefined>;

export const environmentSecrets: SecretSource = (name) => process.env[name];
