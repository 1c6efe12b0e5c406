import { useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { asText } from '../ui/as-text.ts';
import { Copy } from '../ui/copy.tsx';
import { Digits } from '../ui/exact-json.ts';
import { JsonView } from '../ui/json-view.tsx';
import { isRedacted } from './call-in-message.ts';
import type { CallPart } from './use-call.ts';

type Form = 'list' | 'json' | 'text';
const NAMES: Readonly<Record<Form, string>> = { list: 'List', json: 'JSON', text: 'Text' };
/** Longer objects are shown as JSON, which lays out only the lines in view. */
const MAX_LISTED_ARGUMENTS = 60;

/** Arguments or a result as a list of values, as JSON, or as text. */
export function CallPartView({ part: { value, text }, label }: { part: CallPart; label: string }) {
  const forms = formsOf(value);
  const [wanted, setWanted] = useState<Form>();
  const form = forms.find((one) => one === wanted) ?? forms[0] ?? 'text';
  return (
    <>
      {form === 'list' ? (
        <ValueList value={value as Readonly<Record<string, unknown>>} />
      ) : form === 'json' ? (
        <JsonView label={label} value={value} />
      ) : (
        <LongText label={`${label} as text`} text={text ?? ''} />
      )}
      <div className="row forms">
        {forms.length > 1 && (
          <div className="seg" role="group" aria-label={`How to show the ${label.toLowerCase()}`}>
            {forms.map((one) => (
              <button key={one} type="button" aria-pressed={one === form} onClick={() => setWanted(one)}>
                {NAMES[one]}
              </button>
            ))}
          </div>
        )}
        {text !== undefined && (
          <>
            <span className="t3 num">{text.length.toLocaleString('en')} characters</span>
            <Copy text={text} />
          </>
        )}
      </div>
    </>
  );
}

function formsOf(value: unknown): readonly Form[] {
  if (value === undefined) return ['text'];
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Digits);
  return isObject && Object.keys(value).length <= MAX_LISTED_ARGUMENTS ? ['list', 'json', 'text'] : ['json', 'text'];
}

function ValueList({ value }: { value: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(value);
  if (entries.length === 0) return <p className="hint topped">No arguments.</p>;
  return (
    <dl className="args">
      {entries.map(([name, one]) => (
        <div key={name} className="kvr">
          <dt>
            <bdi>{visible(name)}</bdi>
          </dt>
          <dd className="plain">
            <Value name={name} value={one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Longer texts scroll. */
const LONG_TEXT = 1_500;

function Value({ name, value }: { name: string; value: unknown }) {
  if (isRedacted(value)) {
    return (
      <>
        <span className="red">redacted</span>{' '}
        <span className="t3 small">{String(value).slice(1, -1).replaceAll('_', ' ')}, hidden before it was stored</span>
      </>
    );
  }
  if (typeof value === 'object' && value !== null && !(value instanceof Digits))
    return <JsonView label={visible(name)} value={value} />;
  const text = asText(value);
  return text.length > LONG_TEXT ? <LongText label={visible(name)} text={text} /> : visible(text);
}

export function LongText({ label, text }: { label: string; text: string }) {
  return (
    // A scrolling region must be focusable.
    <pre className="well plain long" role="region" aria-label={label} tabIndex={0}>
      {visible(text)}
    </pre>
  );
}
