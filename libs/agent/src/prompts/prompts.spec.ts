import { describe, expect, it } from '@jest/globals';
import { InMemoryDatabaseClient } from '../memory/in-memory-database-client.ts';
import { patternFilter } from '../safety/content-filter.ts';
import { Roles } from '../security/roles.ts';
import { DatabasePromptStore, type DatabasePromptStoreOptions } from './database-prompt-store.ts';
import { fstringEngine } from './engines/fstring.ts';
import { handlebarsEngine } from './engines/handlebars.ts';
import { liquidEngine } from './engines/liquid.ts';
import { mustacheEngine } from './engines/mustache.ts';
import type { EngineName } from './prompt-store.ts';
import { plainData, type TemplateEngine } from './template-engine.ts';

const ENGINES: readonly TemplateEngine[] = [fstringEngine(), liquidEngine(), handlebarsEngine(), mustacheEngine()];
const store = (more: Partial<DatabasePromptStoreOptions> = {}) =>
  new DatabasePromptStore({ database: new InMemoryDatabaseClient(), engines: ENGINES, ...more });

interface Syntax {
  readonly variable: (name: string) => string;
  readonly loop?: (list: string, body: string) => string;
  readonly inner?: string;
  readonly broken: string;
}
const SYNTAX: Readonly<Record<EngineName, Syntax>> = {
  fstring: { variable: (name) => `{${name}}`, broken: 'a { b' },
  liquid: {
    variable: (name) => `{{ ${name} }}`,
    loop: (list, body) => `{% for x in ${list} %}${body}{% endfor %}`,
    inner: '{{ x }}',
    broken: '{% if a %}',
  },
  handlebars: {
    variable: (name) => `{{${name}}}`,
    loop: (list, body) => `{{#each ${list}}}${body}{{/each}}`,
    inner: '{{this}}',
    broken: '{{#if a}}',
  },
  mustache: {
    variable: (name) => `{{${name}}}`,
    loop: (list, body) => `{{#${list}}}${body}{{/${list}}}`,
    inner: '{{.}}',
    broken: '{{#a}}',
  },
};

describe.each(ENGINES.map((engine) => [engine.name, engine, SYNTAX[engine.name]] as const))(
  'the engine %s',
  (name, engine, syntax) => {
    const render = (text: string, data: Parameters<typeof plainData>[0] = {}) => engine.render(text, plainData(data));

    it('fills in variables, and lists them in advance', async () => {
      const text = `Hello ${syntax.variable('user.name')}, ${syntax.variable('n')}!`;
      expect(await engine.variables(text)).toEqual(['n', 'user']);
      expect(await render(text, { user: { name: 'Ann <b>' }, n: 3 })).toBe('Hello Ann <b>, 3!');
    });

    it('keeps template syntax inside values as text', async () => {
      const values = ['{a}', '{{a}}', '{{{a}}}', '{% if a %}', '{{#a}}', '{{> a}}'];
      for (const value of values) expect(await render(syntax.variable('x'), { x: value, a: 'injected' })).toBe(value);
    });

    it('reaches nothing but the data', async () => {
      for (const path of [
        'constructor',
        '__proto__',
        'x.constructor',
        'x.__proto__',
        'toString',
        'x.constructor.constructor',
        'x.length.constructor',
      ]) {
        const text = await render(`[${syntax.variable(path)}]`, { x: { y: 1 } }).catch(
          (error: { code: string }) => error.code,
        );
        expect(['[]', 'template_invalid']).toContain(text);
      }
    });

    it('rejects a broken template', async () => {
      await expect(engine.variables(syntax.broken)).rejects.toMatchObject({ code: 'template_invalid' });
      await expect(render(syntax.broken)).rejects.toMatchObject({ code: 'template_invalid' });
    });

    it('rejects a template that is too long or too deeply nested before parsing it', async () => {
      await expect(engine.variables('x'.repeat(17_000))).rejects.toMatchObject({ code: 'template_limit' });
      const { loop } = syntax;
      if (loop === undefined) return;
      const deep = Array.from({ length: 60 }).reduce<string>((inner) => loop('a', inner), 'x');
      await expect(engine.variables(deep)).rejects.toMatchObject({ code: 'template_limit' });
      await expect(engine.variables('{{#a}}'.repeat(2_000))).rejects.toMatchObject({
        code: expect.stringMatching(/template_(limit|invalid)/),
      });
    });

    it('stops a template that produces too much', async () => {
      const { loop, inner = '' } = syntax;
      const long = 'y'.repeat(100_000);
      await expect(render(syntax.variable('long').repeat(20), { long })).rejects.toMatchObject({
        code: 'template_limit',
      });
      if (loop === undefined) return;
      const list = Array.from({ length: 300 }, (_, index) => index);
      expect(await render(loop('list', inner), { list: [1, 2] })).toBe('12');
      const nested = {
        liquid: loop('list', loop('list', loop('list', 'x'))),
        handlebars: '{{#each list}}{{#each @root.list}}{{#each @root.list}}x{{/each}}{{/each}}{{/each}}',
        mustache: loop('list', loop('list', loop('list', 'x'))),
        fstring: '',
      }[name];
      await expect(render(nested, { list })).rejects.toMatchObject({ code: 'template_limit' });
    });
  },
);

describe('handlebars', () => {
  const engine = handlebarsEngine();
  it.each([
    '{{> other}}',
    '{{#> layout}}{{/layout}}',
    '{{* decorator}}',
    '{{lookup a "b"}}',
    '{{log a}}',
    '{{helper a}}',
    '{{a.constructor.constructor "x"}}',
  ])('refuses %s', async (text) => {
    await expect(engine.render(text, plainData({ a: {} }))).rejects.toMatchObject({ code: 'template_invalid' });
  });

  it('supports if, unless, each and with', async () => {
    const text =
      '{{#if a}}A{{else}}-{{/if}}{{#unless b}}B{{/unless}}{{#each list}}{{@index}}{{this.n}}{{/each}}{{#with a}}{{n}}{{/with}}{{#list}}.{{/list}}';
    expect(await engine.render(text, plainData({ a: { n: 9 }, b: false, list: [{ n: 1 }, { n: 2 }] }))).toBe(
      'AB01129..',
    );
  });
});

it('mustache has no partials and no functions', async () => {
  const engine = mustacheEngine();
  await expect(engine.variables('{{> x}}')).rejects.toMatchObject({ code: 'template_invalid' });
  await expect(engine.variables('{{=<% %>=}}')).rejects.toMatchObject({ code: 'template_invalid' });
});

it('liquid reads no files', async () => {
  for (const text of ['{% include "/etc/passwd" %}', '{% render "x" %}', '{% layout "x" %}'])
    await expect(liquidEngine().render(text, plainData({}))).rejects.toMatchObject({ code: 'template_invalid' });
});

describe('the prompt store', () => {
  it('numbers versions and keeps them unchanged', async () => {
    const audited: string[] = [];
    const prompts = store({
      now: () => 0,
      onAudit: ({ id, version, author }) => void audited.push(`${id} ${version} ${author}`),
    });
    const first = await prompts.put({ id: 'greet', text: 'Hello {name}', tags: ['a'] }, { author: 'ann' });
    expect(first).toMatchObject({
      version: '1',
      engine: 'fstring',
      createdBy: 'ann',
      createdAt: '1970-01-01T00:00:00.000Z',
    });
    expect(await prompts.put({ id: 'greet', text: 'Hello {name}' })).toEqual(first);
    await prompts.put({ id: 'greet', text: 'Hi {name}\nBye' }, { author: 'bob' });
    expect((await prompts.get('greet'))?.text).toBe('Hi {name}\nBye');
    expect(await prompts.get('greet', '1')).toEqual(first);
    expect(await prompts.get('greet', '9')).toBeNull();
    expect(audited).toEqual(['greet 1 ann', 'greet 2 bob']);
    expect((await prompts.diff('greet', '1', '2')).lines).toEqual(['-Hello {name}', '+Hi {name}', '+Bye']);
    expect((await prompts.list()).map(({ id, version }) => [id, version])).toEqual([['greet', '2']]);
    expect(await prompts.list({ tag: 'none' })).toEqual([]);
  });

  it('assigns consecutive numbers to concurrent writers', async () => {
    const prompts = store();
    await Promise.all(Array.from({ length: 8 }, (_, index) => prompts.put({ id: 'p', text: `text ${index}` })));
    expect((await prompts.get('p'))?.version).toBe('8');
  });

  it('renders only with every variable, unless configured otherwise', async () => {
    const prompts = store();
    await prompts.put({ id: 'p', text: '{a}-{b}', requiredVars: ['c'] });
    await expect(prompts.render('p', { a: 1 })).rejects.toMatchObject({
      code: 'missing_variables',
      info: { missing: ['b', 'c'] },
    });
    expect((await prompts.render('p', { a: 1 }, { throwOnMissing: false })).text).toBe('1-');
    expect(await prompts.render('p', { a: 1, b: 2, c: 3 })).toMatchObject({
      text: '1-2',
      meta: { version: '1', tokensEstimate: 1 },
    });
    await expect(prompts.render('none')).rejects.toMatchObject({ code: 'template_invalid' });
  });

  it('rejects secrets, texts blocked by its policy, and unauthorised writers', async () => {
    const policy = {
      contentFilter: [patternFilter({ name: 'bombs', patterns: ['bomb'], phases: ['prompt-template'] })],
    };
    const roles = new Roles({ writer: { 'prompt.publish': ['team-*'] } });
    const prompts = store({ policy, roles });
    const by = { id: 'ann', roles: ['writer'] };
    await expect(prompts.put({ id: 'team-a', text: 'a bomb' }, { by })).rejects.toMatchObject({
      code: 'template_invalid',
    });
    await expect(prompts.put({ id: 'team-a', text: 'write to a@b.example' }, { by })).rejects.toMatchObject({
      code: 'template_invalid',
    });
    await expect(prompts.put({ id: 'other', text: 'x' }, { by })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(prompts.put({ id: 'team-a', text: 'x' })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await prompts.put({ id: 'team-a', text: 'x' }, { by })).toMatchObject({ version: '1' });
  });

  it('checks a text without storing it', async () => {
    const prompts = store();
    expect(await prompts.validate('{a} {b.c}')).toEqual({ ok: true, variables: ['a', 'b'] });
    expect(await prompts.validate('{{#if}}', 'handlebars')).toMatchObject({ ok: false, errors: [expect.any(String)] });
    expect(
      await new DatabasePromptStore({ database: new InMemoryDatabaseClient(), engines: [] }).validate('x'),
    ).toMatchObject({ ok: false });
    expect(await prompts.list()).toEqual([]);
  });
});
