import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMay } from '../shell/me.tsx';
import { Read } from '../ui/faces.tsx';
import { Section } from '../ui/section.tsx';
import { useChange } from '../ui/use-change.ts';

/** Each setting with its possible values. */
const CHOICES = [
  {
    field: 'decisionFailMode',
    question: 'A call that no rule could evaluate in time',
    answers: [
      ['allow', 'is allowed'],
      ['block', 'is blocked'],
    ],
  },
  {
    field: 'decisionPath',
    question: 'Calls whose answer a gateway can prove',
    answers: [
      ['gateway', 'are decided there'],
      ['evaluator', 'go to the evaluator'],
    ],
  },
  {
    field: 'defaultBreaker',
    question: 'Runs without limits of their own',
    answers: [
      ['on', 'get the default limits'],
      ['off', 'get no limits'],
    ],
  },
  {
    field: 'decisionArguments',
    question: 'Arguments in stored decisions',
    answers: [
      ['redacted', 'redacted'],
      ['none', 'not stored'],
    ],
  },
  {
    field: 'deniedCalls',
    question: 'A run repeats a denied call',
    answers: [
      ['deny', 'deny it again'],
      ['ask', 'ask again'],
    ],
  },
  {
    field: 'contentRetentionDays',
    question: 'Payloads, arguments and results are kept',
    answers: [
      [null, 'as long as the events'],
      [90, '90 days'],
      [30, '30 days'],
      [7, '7 days'],
    ],
  },
] as const;

type Choice = (typeof CHOICES)[number];
type Answer = readonly [value: string | number | null, name: string];

/** Choices, including an unusual current value. */
function answersOf({ field, answers }: Choice, value: string | number | null): readonly Answer[] {
  const usual: readonly Answer[] = answers;
  if (field !== 'contentRetentionDays' || usual.some(([known]) => known === value)) return usual;
  return [...usual, [value, `${value} days`]];
}

export function TenantSettings() {
  const change = useChange('settings', 'The setting was not changed');
  const { may, why } = useMay('admin');
  const settings = useRead(['settings'], (signal) => client.getSettings({ signal }));
  const set = (field: Choice['field'], value: Answer[0]) =>
    change('Saved. Applies everywhere within 5 seconds.', () => client.patchSettings({ body: { [field]: value } }));
  return (
    <Section title="Tenant">
      <Read read={settings} what="Tenant settings" rows={3}>
        {(data) => (
          <>
            {CHOICES.map((choice) => {
              const { field, question } = choice;
              return (
                <div key={field} className="row wrap topped">
                  <span className="t2">{question}</span>
                  <div className="seg" role="group" aria-label={question}>
                    {answersOf(choice, data[field]).map(([value, name]) => (
                      <button
                        key={value}
                        type="button"
                        aria-pressed={data[field] === value}
                        aria-disabled={!may || undefined}
                        title={why}
                        onClick={() => may && void set(field, value)}
                      >
                        {name}
                      </button>
                    ))}
                  </div>
                </div>
              );
            })}
          </>
        )}
      </Read>
    </Section>
  );
}
