import { useState } from 'react';
import { HOUR_MS } from '../../../../libs/contracts/src/times.ts';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { OnCallSchedule } from '../api/model.ts';
import { counted } from '../figures/figures.ts';
import { useMay } from '../shell/me.tsx';
import { Act } from '../ui/act.tsx';
import { Dialog, EditActs } from '../ui/dialog.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field } from '../ui/field.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { useChange } from '../ui/use-change.ts';
import { useDialogChange } from '../ui/use-dialog-change.ts';
import { useOnCall, usePeople, useTeams } from './use-people.ts';

const HOURS = [1, 4, 8, 12, 24, 72, 168];

/** Schedules, who is on call now, and who takes a shift of another. */
export function OnCall() {
  const read = useOnCall();
  const run = useChange('on-call', 'The override still applies');
  const [open, setOpen] = useState<OnCallSchedule>();
  return (
    <Section title="On call" note={read.data?.schedules.length}>
      <Read read={read} what="On-call schedules" rows={2}>
        {({ schedules }) =>
          schedules.length === 0 ? (
            <Empty title="No on-call schedules yet.">
              An approval policy can name a schedule: the person on call decides. Create one with PUT /api/on-call/:id.
            </Empty>
          ) : (
            <table className="tb flush">
              <thead>
                <tr>
                  <th>Schedule</th>
                  <th>On call now</th>
                  <th className="not-s">Next</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {schedules.map((schedule) => (
                  <tr key={schedule.id}>
                    <td>
                      <span className="strong">{visibleName(schedule.name)}</span>
                      <span className="rule-sentence mono">{schedule.id}</span>
                    </td>
                    <td className="w100">
                      <Who shift={schedule.onCall} />
                      {schedule.overrides.map((one) => (
                        <span key={one.id} className="rule-sentence">
                          {visibleName(one.name ?? one.person)} from <Moment at={one.from} short /> until{' '}
                          <Moment at={one.to} short />{' '}
                          <Act
                            scope="operate"
                            kind="sm"
                            label={`End the override of ${visibleName(one.name ?? one.person)}`}
                            onPress={() =>
                              void run('Ended', () =>
                                client.endOnCallOverride({ params: { id: schedule.id, override: one.id } }),
                              )
                            }
                          >
                            End
                          </Act>
                        </span>
                      ))}
                    </td>
                    <td className="t2 not-s">
                      {schedule.next !== null && (
                        <>
                          <Who shift={schedule.next} /> from <Moment at={schedule.next.at} short />
                        </>
                      )}
                    </td>
                    <td className="act">
                      <Act
                        scope="operate"
                        kind="sm"
                        label={`Override ${visibleName(schedule.name)}`}
                        onPress={() => setOpen(schedule)}
                      >
                        Override…
                      </Act>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Read>
      {open !== undefined && <AddOverride schedule={open} onClose={() => setOpen(undefined)} />}
    </Section>
  );
}

function Who({ shift: { person, name, because, layer } }: { shift: OnCallSchedule['onCall'] }) {
  if (person === null) return <span className="bad">no person</span>;
  return (
    <>
      {visibleName(name ?? person)} <span className="t3">{because === 'layer' ? `layer ${layer}` : 'override'}</span>
    </>
  );
}

function AddOverride({ schedule, onClose }: { schedule: OnCallSchedule; onClose: () => void }) {
  const { act, rejection } = useDialogChange(onClose);
  const [person, setPerson] = useState('');
  const [hours, setHours] = useState(8);
  const candidates = useCandidates();
  const add = () =>
    act('Override added', () =>
      client.addOnCallOverride({
        params: { id: schedule.id },
        body: { person, to: new Date(Date.now() + hours * HOUR_MS).toISOString() },
      }),
    );
  return (
    <Dialog
      title={`Override ${visibleName(schedule.name)}`}
      open
      onClose={onClose}
      acts={<EditActs save="Add override" isReady={person !== ''} onSave={() => void add()} onClose={onClose} />}
    >
      <div className="kd">
        <Field label="Who" wrong={rejection.at('person')}>
          {(input) => (
            <select {...input} value={person} onChange={(event) => setPerson(event.target.value)}>
              <option value="">Choose a person</option>
              {candidates.map(([id, name]) => (
                <option key={id} value={id}>
                  {visibleName(name)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="From now, for" wrong={rejection.at('to')}>
          {(input) => (
            <select {...input} value={hours} onChange={(event) => setHours(Number(event.target.value))}>
              {HOURS.map((count) => (
                <option key={count} value={count}>
                  {counted(count, 'hour')}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p className="hint">
          The person decides the approvals that name this schedule, if they have a role that reviews. Under a policy
          with separation of duties, who changes a schedule does not decide for 24 hours.
        </p>
        <FailureLine>{rejection.besides('person', 'to')}</FailureLine>
      </div>
    </Dialog>
  );
}

/** Only administrators list all people. Others know the members of teams. */
function useCandidates(): readonly (readonly [id: string, name: string])[] {
  const { may } = useMay('admin');
  const people = usePeople(may).data?.people ?? [];
  const members = (useTeams().data?.teams ?? []).flatMap((team) => team.members);
  const names = new Map([
    ...members.map(({ person, name }) => [person, name] as const),
    ...people.map(({ id, name }) => [id, name] as const),
  ]);
  return [...names].toSorted(([, one], [, other]) => one.localeCompare(other));
}
