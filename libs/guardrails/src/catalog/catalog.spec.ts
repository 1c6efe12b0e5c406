import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ACTIONS } from '../actions/index.ts';
import { CONDITIONS } from '../conditions/index.ts';
import { callTest } from '../decisions/call-test.ts';
import { describeCatalog } from '../rules/describe-catalog.ts';
import { Catalog } from './catalog.ts';

function folders(kind: string): string[] {
  return readdirSync(new URL(`../${kind}`, import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

const kebab = (type: string) => type.replaceAll('_', '-');

describe.each([
  ['conditions', CONDITIONS],
  ['actions', ACTIONS],
] as const)('the catalog of %s', (kind, catalog) => {
  it('registers exactly the folders', () => {
    expect(catalog.types.map(kebab).sort()).toEqual(folders(kind).sort());
  });

  it.each(folders(kind))('%s has a module, a spec and a README', (folder) => {
    for (const file of [`${folder}.ts`, `${folder}.spec.ts`, 'README.md']) {
      expect({ file, there: existsSync(new URL(`../${kind}/${folder}/${file}`, import.meta.url)) }).toEqual({
        file,
        there: true,
      });
    }
  });

  it.each(catalog.types)('%s accepts its own example and rejects unknown keys', (type) => {
    const entry = catalog.get(type);
    expect(entry?.config.safeParse(entry.example).success).toBe(true);
    expect(entry?.config.safeParse({ ...(entry.example as object), surprise: 1 }).success).toBe(false);
  });
});

describe('conditions about calls', () => {
  it.each(CONDITIONS.modules)('$type supports calls only if its phases include decision', (module) => {
    const test = callTest(module, module.config.parse(module.example));
    expect(test !== null).toBe(module.phases.includes('decision'));
  });
});

describe('describeCatalog', () => {
  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(describeCatalog()))).toEqual(describeCatalog());
  });

  it('includes units, defaults and bounds in the schema', () => {
    const errorRate = describeCatalog().conditions.find(({ type }) => type === 'error_rate_threshold');
    expect(errorRate?.schema.properties).toMatchObject({
      threshold: { unit: '%', default: 30, minimum: 0, maximum: 100 },
      windowMinutes: { unit: 'min', default: 5 },
    });
  });

  it('lists only config keys as secrets and addresses', () => {
    for (const action of ACTIONS.modules) {
      const schema = describeCatalog().actions.find(({ type }) => type === action.type)?.schema;
      const keys = Object.keys((schema?.properties ?? {}) as object);
      expect(keys).toEqual(expect.arrayContaining([...action.secrets, ...action.addresses]));
    }
  });
});

describe('Catalog', () => {
  it('rejects a duplicate type', () => {
    expect(() => new Catalog([{ type: 'a' }, { type: 'a' }])).toThrow('twice');
  });
});
