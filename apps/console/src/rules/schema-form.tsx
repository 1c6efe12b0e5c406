import { type ReactNode, useId } from 'react';
import { choiceAmong } from '../../../../libs/guardrails/src/words/choice-words.ts';
import { asText } from '../ui/as-text.ts';
import { Icon } from '../ui/icon.tsx';
import type { Problem } from './draft.ts';

/** A JSON Schema, as far as the catalog uses it. */
export interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly unit?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}

interface FieldsProps {
  readonly schema: Schema;
  readonly value: Readonly<Record<string, unknown>>;
  readonly onChange: (value: Record<string, unknown>) => void;
  /** Where this config lies in the draft: `conditionConfig`. */
  readonly path: string;
  readonly problems: readonly Problem[];
  /** Draws some members itself. */
  readonly own?: Readonly<Record<string, ReactNode>>;
}

/** The members of a config, drawn from its schema. */
export function SchemaFields({ schema, value, onChange, path, problems, own = {} }: FieldsProps) {
  const set = (name: string, next: unknown) => {
    const { [name]: _old, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <div className="fields">
      {Object.entries(schema.properties ?? {}).map(
        ([name, member]) =>
          own[name] ?? (
            <Field
              key={name}
              name={name}
              schema={member}
              required={schema.required?.includes(name) ?? false}
              value={value[name]}
              onChange={(next) => set(name, next)}
              path={`${path}.${name}`}
              problems={problems}
            />
          ),
      )}
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly path: string;
  readonly problems: readonly Problem[];
}

function Field({ name, schema, required, value, onChange, path, problems }: FieldProps) {
  const id = useId();
  const wrong = problems.filter((problem) => problem.path === path || problem.path.startsWith(`${path}.`));
  const title = schema.title ?? name;
  return (
    <div className="field sf">
      <label htmlFor={id}>
        {title}
        {!required && schema.default === undefined && <span className="t3"> optional</span>}
      </label>
      <span className="row">
        <Input id={id} schema={schema} value={value} onChange={onChange} invalid={wrong.length > 0} />
        {schema.unit !== undefined && <span className="t3">{UNITS[schema.unit] ?? schema.unit}</span>}
      </span>
      {schema.description !== undefined && <span className="hint">{schema.description}</span>}
      {wrong.map((problem) => (
        <span key={problem.message} className="hint bad">
          {sentence(problem.message)}
        </span>
      ))}
    </div>
  );
}

const UNITS: Readonly<Record<string, string>> = {
  s: 'seconds',
  min: 'minutes',
  USD: 'dollars',
  ms: 'milliseconds',
  '%': '%',
};

export function sentence(message: string): string {
  return `${message[0]?.toUpperCase() ?? ''}${message.slice(1)}`;
}

interface InputProps {
  readonly id: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly invalid: boolean;
}

function Input({ id, schema, value, onChange, invalid }: InputProps) {
  const common = { id, 'aria-invalid': invalid || undefined, className: `in ${invalid ? 'err' : ''}` };
  const shown = value ?? schema.default;
  if (schema.enum !== undefined) {
    return (
      <select {...common} value={asText(shown)} onChange={(event) => onChange(event.target.value || undefined)}>
        {shown === undefined && <option value="">any</option>}
        {schema.enum.map((one) => (
          <option key={one} value={one}>
            {choiceAmong(schema.enum ?? [], one)}
          </option>
        ))}
      </select>
    );
  }
  if (schema.type === 'boolean')
    return (
      <input
        id={id}
        type="checkbox"
        className="cks"
        checked={shown === true}
        onChange={(event) => onChange(event.target.checked)}
      />
    );
  if (schema.type === 'number' || schema.type === 'integer') {
    return (
      <input
        {...common}
        className={`${common.className} num short`}
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        value={typeof shown === 'number' ? shown : ''}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.valueAsNumber)}
      />
    );
  }
  if (schema.type === 'array' && (schema.items?.type === 'string' || schema.items?.enum !== undefined)) {
    return (
      <Words
        id={id}
        value={Array.isArray(value) ? (value as string[]) : []}
        choices={schema.items.enum}
        onChange={onChange}
        invalid={invalid}
      />
    );
  }
  if (schema.anyOf !== undefined) return <Free {...common} value={shown} onChange={onChange} />;
  if (schema.type === 'string')
    return (
      <input
        {...common}
        value={typeof shown === 'string' ? shown : ''}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      />
    );
  return <JsonText {...common} value={shown} onChange={onChange} />;
}

/** A value whose type its text tells: numbers, yes and no, lists with commas, else text. */
function Free({
  value,
  onChange,
  ...common
}: {
  id: string;
  className: string;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const text = Array.isArray(value) ? value.join(', ') : asText(value);
  const read = (typed: string): unknown => {
    if (typed === '') return undefined;
    if (Array.isArray(value) || typed.includes(', ')) return typed.split(/, ?/).filter((part) => part !== '');
    if (/^-?\d+(\.\d+)?$/.test(typed)) return Number(typed);
    return typed === 'true' ? true : typed === 'false' ? false : typed;
  };
  return <input {...common} value={text} onChange={(event) => onChange(read(event.target.value))} />;
}

/** A list of words: each a token that can be taken away. */
export function Words({
  id,
  value,
  choices,
  onChange,
  invalid = false,
  placeholder = 'add',
}: {
  id?: string;
  value: readonly string[];
  choices?: readonly string[] | undefined;
  onChange: (value: string[] | undefined) => void;
  invalid?: boolean;
  placeholder?: string;
}) {
  const listId = useId();
  const add = (input: HTMLInputElement) => {
    const word = input.value.trim();
    if (word !== '' && !value.includes(word)) onChange([...value, word]);
    input.value = '';
  };
  return (
    <span className={`in words ${invalid ? 'err' : ''}`}>
      {value.map((word) => (
        <span key={word} className="tk">
          {word}
          <button
            type="button"
            aria-label={`Remove ${word}`}
            onClick={() => onChange(value.length === 1 ? undefined : value.filter((one) => one !== word))}
          >
            <Icon name="x" size={12} />
          </button>
        </span>
      ))}
      <input
        id={id}
        aria-label={id === undefined ? placeholder : undefined}
        list={listId}
        placeholder={placeholder}
        onBlur={(event) => add(event.target)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' && event.key !== ',') return;
          event.preventDefault();
          add(event.currentTarget);
        }}
      />
      <datalist id={listId}>
        {choices?.map((choice) => (
          <option key={choice} value={choice} />
        ))}
      </datalist>
    </span>
  );
}

/** What no field is drawn for: as JSON. */
function JsonText({
  value,
  onChange,
  ...common
}: {
  id: string;
  className: string;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  return (
    <textarea
      {...common}
      className={`${common.className} mono`}
      rows={4}
      defaultValue={value === undefined ? '' : JSON.stringify(value, null, 2)}
      onBlur={(event) => {
        try {
          onChange(event.target.value.trim() === '' ? undefined : (JSON.parse(event.target.value) as unknown));
          event.target.setCustomValidity('');
        } catch {
          event.target.setCustomValidity('This is not JSON yet.');
          event.target.reportValidity();
        }
      }}
    />
  );
}
