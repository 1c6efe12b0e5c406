import { Dialog } from '../ui/dialog.tsx';
import { openable } from '../ui/opened.ts';

const help = openable<true>();

export function openHelp(): void {
  help.open(true);
}

const KEYS: readonly (readonly [string, string])[] = [
  ['?', 'Show this help'],
  ['Ctrl K', 'Search'],
  ['/', 'Filter the list'],
  ['g n · g r · g a · g d · g s', 'Go to Now, Runs, Approvals, Decisions, Spend'],
  ['j · k', 'Next, previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['[ · ]', 'Previous, next run of the list'],
  ['← · →', 'Collapse or expand a row'],
  ['b · e', 'Next problem, blocked call, error of a run'],
  ['1 · 2 · 3 · 4', 'Timeline, transcript, log, tree of a run'],
  ['+ · - · 0', 'Zoom the timeline'],
  ['c', 'Close or open idle gaps'],
  ['a · d', 'Approve or deny the call, with confirmation'],
  ['l', 'Pause or resume live updates'],
  ['y', 'Copy the link'],
  ['Esc', 'Close'],
];

export function Help() {
  const open = help.use() === true;
  return (
    <Dialog
      title="Keys"
      open={open}
      onClose={help.close}
      wide
      acts={
        <button type="button" className="b" onClick={help.close}>
          Close
        </button>
      }
    >
      <dl className="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p className="hint">Single keys work outside of fields. There is no single key for Kill.</p>
    </Dialog>
  );
}
