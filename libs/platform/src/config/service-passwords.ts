import { DATABASE_ROLES, type ServicePasswords } from '@agentlens/database';
import { z } from 'zod';

const MIN_PASSWORD_LENGTH = 16;
/** Printable ASCII without a space: the same bytes in an address, a shell and a secret. */
const PASSWORD = /^[\x21-\x7e]+$/;

/** `service=password` pairs, comma separated. No message repeats what was given: it may be a password. */
export const servicePasswords = z.string().transform((text, context): ServicePasswords => {
  const passwords: Partial<Record<string, string>> = {};
  const refuse = (message: string) => context.issues.push({ code: 'custom', message, input: undefined });
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  for (const [index, pair] of pairs.entries()) {
    const [, service = '', password = ''] = /^([^=]*)=(.*)$/s.exec(pair.trim()) ?? [];
    if (!DATABASE_ROLES.some((role) => role === service)) {
      refuse(`pair ${index + 1} must be service=password, with one of ${DATABASE_ROLES.join(', ')}`);
    } else if (password.length < MIN_PASSWORD_LENGTH || !PASSWORD.test(password)) {
      refuse(
        `the password of ${service} must be ${MIN_PASSWORD_LENGTH} or more printable ASCII characters, without comma or space`,
      );
    } else {
      passwords[service] = password;
    }
  }
  if (new Set(Object.values(passwords)).size < Object.keys(passwords).length) {
    refuse('every service needs a password of its own');
  }
  return passwords;
});
