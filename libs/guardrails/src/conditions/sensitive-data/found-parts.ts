import { type DetectorName, detect } from '../../detectors/detectors.ts';

type Part = 'domain' | 'tld' | 'scheme';

interface Detection {
  readonly detector: DetectorName;
  readonly check?: Part | undefined;
  readonly operator?: 'eq' | 'neq' | 'endsWith' | 'in' | undefined;
  readonly value?: string | string[] | undefined;
}

/** Parts that a match of a detector can be tested by. */
export function partOf(detector: DetectorName): readonly Part[] {
  if (detector === 'url') return ['domain', 'tld', 'scheme'];
  return detector === 'email' || detector === 'email_domain' ? ['domain', 'tld'] : [];
}

/**
 * Returns a test that is true if a text has a match of the detector and, if `check` is set, a match whose part passes
 * the comparison.
 */
export function findingTest({ detector, check, operator, value }: Detection): (text: string) => boolean {
  if (check === undefined) return (text) => detect(detector, text).length > 0;
  const wanted = [value ?? []].flat().map((one) => one.toLowerCase());
  return (text) =>
    detect(detector, text).some((found) => {
      const part = read(detector, check, found.text);
      if (part === undefined) return false;
      if (operator === 'neq') return !wanted.includes(part);
      return operator === 'endsWith' ? wanted.some((end) => part.endsWith(end)) : wanted.includes(part);
    });
}

function read(detector: DetectorName, part: Part, text: string): string | undefined {
  if (part === 'scheme') return text.slice(0, text.indexOf(':')).toLowerCase();
  const domain = detector === 'url' ? hostOf(text) : text.slice(text.lastIndexOf('@') + 1).toLowerCase();
  return part === 'tld' ? domain?.slice(domain.lastIndexOf('.') + 1) : domain;
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname.toLowerCase() : undefined;
}
