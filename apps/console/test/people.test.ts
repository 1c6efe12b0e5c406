import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { freePort } from '../../../libs/testing/src/servers/server-process.ts';
import { type RealProvider, startProvider } from '../../../services/query/test/real-provider.ts';
import { openBrowser, PATIENTLY_MS, signIn } from './support/chromium.ts';
import { type RunningPlatform, startPlatform } from './support/platform.ts';
import { Agent, call } from './support/traffic.ts';

const RULE = {
  name: 'Payments need a person',
  agentId: 'billing-1',
  toolNames: ['pay_invoice'],
  conditionType: 'tool_name',
  conditionConfig: { operator: 'eq', value: 'pay_invoice' },
  actionType: 'require_approval',
  actionConfig: { title: 'May it pay?', expiresInSeconds: 900 },
};

const ACCOUNTS = {
  ann: { name: 'Ann Lee', email: 'ann@example.com', email_verified: true, groups: ['finance', 'admins'] },
  ben: { name: 'Ben Okafor', email: 'ben@example.com', email_verified: true, groups: ['finance'] },
  cem: { name: 'Cem Aydin', email: 'cem@example.com', email_verified: true, groups: ['sales'] },
};

void describe('people in the console, with a real provider on another site', { timeout: 1_200_000 }, () => {
  let platform: RunningPlatform;
  let provider: RealProvider;
  let browser: Browser;
  /** Another site than the provider, which is at 127.0.0.1: a Strict cookie of the callback would be lost. */
  let address: string;

  before(async () => {
    const port = await freePort();
    address = `http://localhost:${port}`;
    platform = await startPlatform('one process', {
      AGENTLENS_HTTP_PORT: String(port),
      AGENTLENS_PUBLIC_URL: address,
      AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32',
    });
    provider = await startProvider({ redirectUri: `${address}/api/auth/oidc/callback`, accounts: ACCOUNTS });
    await call(platform, 'POST', '/api/guardrails', RULE);
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await provider?.close();
    await platform?.stop();
  });

  const newContext = () => browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  const open = async (context: BrowserContext, path: string): Promise<Page> => {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENTLY_MS);
    await page.goto(address + path);
    return page;
  };
  /** Fills in the forms of the provider. */
  const signInAtProvider = async (page: Page, subject: string): Promise<void> => {
    await page.locator('input[name="login"]').fill(subject);
    await page.locator('input[name="password"]').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  /** A browser of a person, signed in at a path of the console. */
  const personAt = async (subject: string, path: string): Promise<Page> => {
    const page = await open(await newContext(), path);
    await page.getByRole('link', { name: 'Continue with Acme login' }).click();
    await signInAtProvider(page, subject);
    await page.locator('#main').waitFor();
    return page;
  };

  void it('sets up a team and a provider, and tests which claims give which roles', async () => {
    const context = await newContext();
    await signIn(context, { address, key: platform.key });
    const page = await open(context, '/settings/teams');
    await page.getByRole('button', { name: 'New team…' }).click();
    let dialog = page.getByRole('dialog');
    await dialog.getByLabel('Id', { exact: true }).fill('Finance!');
    await dialog.getByLabel('Name').fill('Finance');
    await dialog.getByRole('button', { name: 'Save team' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/must be 1-40 characters/)
      .waitFor();
    await dialog.getByLabel('Id', { exact: true }).fill('finance');
    await dialog.getByLabel('Agents that the team owns').fill('ledger-*');
    await dialog.getByRole('button', { name: 'Save team' }).click();
    await page.getByRole('cell', { name: 'Finance' }).first().waitFor();

    await page.getByRole('link', { name: 'Sign-in providers' }).click();
    await page.getByRole('button', { name: 'New provider…' }).click();
    dialog = page.getByRole('dialog');
    await dialog.getByLabel('Kind').selectOption('other');
    await dialog.getByLabel('Name').fill('Acme login');
    await dialog.getByLabel('Issuer').fill(`${provider.issuer}/.well-known/openid-configuration`);
    await dialog.getByLabel('Client id').fill('agentlens');
    await dialog.getByLabel('Client secret').fill('client secret');
    await dialog.getByLabel('Equals').fill('admins');
    await dialog.getByRole('button', { name: 'Add a line' }).click();
    await dialog.getByLabel('Equals').last().fill('finance');
    await dialog.getByRole('button', { name: 'Add a line' }).click();
    await dialog.getByLabel('Equals').last().fill('finance');
    await dialog.getByLabel('Role', { exact: true }).last().selectOption('');
    await dialog.getByLabel('Team', { exact: true }).last().selectOption('finance');
    await dialog.getByRole('button', { name: 'Save provider' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/Must be the issuer/)
      .waitFor();
    await dialog.getByLabel('Issuer').fill(provider.issuer);
    await dialog.getByRole('button', { name: 'Save provider' }).click();
    await page.getByText(`${address}/api/auth/oidc/callback`).waitFor();
    assert.equal(await page.getByText('client secret').count(), 0);

    const [tested] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('button', { name: 'Test sign-in' }).click(),
    ]);
    await signInAtProvider(tested, 'ann');
    await tested.getByText('member of team finance').waitFor();
    await tested.getByText('role admin').waitFor();
    await tested.getByText('["finance","admins"]').waitFor();
    assert.equal((await call(platform, 'GET', '/api/people')).people.length, 0);
    await context.close();
  });

  void it('returns to the page at which the sign-in began, and says who is signed in', async () => {
    const page = await personAt('ann', '/settings/people?from=mail');
    assert.equal(new URL(page.url()).pathname, '/settings/people');
    const row = page.getByRole('row', { name: /Ann Lee/ });
    await row.getByText('you', { exact: true }).waitFor();
    await row.getByText('admin', { exact: true }).waitFor();
    await page.getByTitle(/^You: Ann Lee/).click();
    await page.getByText('admin, approver', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'New personal key…' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('My laptop');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('shown this once').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'My laptop' }).waitFor();
    await page.context().close();
  });

  void it('shows a person without a role which claims were looked at, and gives a role by hand', async () => {
    const page = await open(await newContext(), '/');
    await page.getByRole('link', { name: 'Continue with Acme login' }).click();
    await signInAtProvider(page, 'cem');
    await page.getByText('You are in none of the groups that may use AgentLens').waitFor();

    const admin = await personAt('ann', '/settings/people');
    await admin.getByRole('button', { name: 'Change Cem Aydin' }).click();
    const dialog = admin.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add a role' }).click();
    await dialog.getByLabel('Role', { exact: true }).selectOption('viewer');
    await dialog.getByRole('button', { name: 'Save roles' }).click();
    await admin
      .getByRole('row', { name: /Cem Aydin/ })
      .getByText('viewer, by hand')
      .waitFor();
    await page.goto(address);
    await page.getByRole('link', { name: 'Continue with Acme login' }).click();
    await page.locator('#main').waitFor();

    await admin.getByRole('button', { name: 'Change Cem Aydin' }).click();
    await admin.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await admin
      .getByRole('row', { name: /Cem Aydin/ })
      .getByText('disabled')
      .waitFor();
    const answer = await page.request.get(`${address}/api/me`);
    assert.equal(answer.status(), 401);
    await admin.context().close();
    await page.context().close();
  });

  void it('needs two people for a payment: the card shows the policy, the votes and who may still vote', async () => {
    const ben = await personAt('ben', '/approvals');
    const admin = await personAt('ann', '/settings/policies');
    await admin.getByRole('button', { name: 'New policy…' }).click();
    const dialog = admin.getByRole('dialog');
    await dialog.getByLabel('Id', { exact: true }).fill('payments');
    await dialog.getByLabel('Name').fill('Payments');
    await dialog.getByLabel('Tools').fill('pay_*');
    await dialog.getByLabel('How many must approve').selectOption('3');
    await dialog.getByLabel('Who may not').selectOption('none');
    await dialog.getByLabel(/^Team Finance/).check();
    await dialog.getByText('Only 2 people are named today').waitFor();
    await dialog.getByLabel('How many must approve').selectOption('2');
    await dialog.getByRole('button', { name: 'Save policy' }).click();
    await admin
      .getByRole('row', { name: /Payments/ })
      .getByText('2 of Finance')
      .waitFor();
    await admin.getByLabel('Agent', { exact: true }).fill('billing-1');
    await admin.getByLabel('Tool', { exact: true }).fill('pay_invoice');
    await admin.getByRole('button', { name: 'Show', exact: true }).click();
    await admin.getByText('“Payments” applies.').waitFor();

    const run = await new Agent(platform, { agentId: 'billing-1', task: 'pay' }).start();
    await run.asks('pay_invoice', { amount: 12 });
    const { alerts } = await call(platform, 'GET', `/api/alerts?kind=approval&runId=${run.runId}`);
    const path = `/approvals?id=${alerts[0].id}`;
    await ben.goto(address + path);
    const votes = ben.getByRole('region', { name: 'Votes' });
    await votes.getByText('0 of 2 approvals').waitFor();
    assert.deepEqual(await votes.locator('li').allInnerTexts(), ['Ann Lee\nmay vote', 'Ben Okafor\nmay vote']);
    await ben.getByRole('button', { name: /Approve once…/ }).click();
    await ben.getByRole('button', { name: 'Approve once', exact: true }).click();
    await ben.getByText('Your approval is recorded. The policy needs more.').waitFor();
    await votes.getByText('1 of 2 approvals').waitFor();

    // A key of a program is no person.
    const context = await newContext();
    await signIn(context, { address, key: platform.key });
    const asKey = await open(context, path);
    await asKey
      .getByRole('region', { name: 'Votes' })
      .getByText(/^The policy of this approval does not/)
      .waitFor();
    assert.equal(await asKey.getByRole('button', { name: /Approve once…/ }).getAttribute('aria-disabled'), 'true');

    await admin.goto(address + path);
    await admin.getByRole('button', { name: /Approve once…/ }).click();
    await admin.getByRole('button', { name: 'Approve once', exact: true }).click();
    await admin.getByText('pay_invoice approved once').waitFor();
    const decided = await call(platform, 'GET', `/api/alerts/${alerts[0].id}`);
    assert.equal(decided.status, 'approved');
    for (const one of [ben, admin, asKey]) await one.context().close();
  });

  void it('gives a command line a personal key after the person confirms the code that its terminal shows', async () => {
    const page = await personAt('ben', '/you');
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const collect = () => call(platform, 'POST', '/api/login', { verifier });
    await page.goto(`${address}/you/login?challenge=${challenge}&name=cli%20on%20laptop&via=cli`);
    await page.getByText(`${challenge.slice(0, 4)} ${challenge.slice(4, 8)}`, { exact: true }).waitFor();
    assert.deepEqual(await collect(), { status: 'pending' });
    await page.getByRole('button', { name: 'Confirm', exact: true }).click();
    await page.getByText('Confirmed. Go back to the terminal.').waitFor();
    const { key, person } = await collect();
    assert.equal(person, 'Ben Okafor');
    const me = await call({ address, key }, 'GET', '/api/me');
    assert.equal(me.person.via, 'cli');
    await page.getByRole('link', { name: 'Your personal keys' }).click();
    await page.getByRole('cell', { name: 'cli on laptop' }).waitFor();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('You have no personal key.').waitFor();
    await page.context().close();
  });

  void it('lets a person name a deputy for some days, whom the deputy sees too, and end it', async () => {
    const page = await personAt('ben', '/you');
    await page.getByText('You have no deputy.').waitFor();
    await page.getByRole('button', { name: 'Name a deputy…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Who').selectOption({ label: 'Ann Lee' });
    await dialog.getByLabel('How long').selectOption('3');
    await dialog.getByRole('button', { name: 'Name deputy' }).click();
    await page.getByRole('cell', { name: 'Ann Lee' }).waitFor();
    const deputy = await personAt('ann', '/you');
    await deputy.getByText(/You decide in the place of/).waitFor();
    await page.getByRole('button', { name: 'End', exact: true }).click();
    await page.getByText('You have no deputy.').waitFor();
    await deputy.context().close();
    await page.context().close();
  });

  void it('shows who is on call, takes an override, and lets the person on call decide', async () => {
    const { people } = await call(platform, 'GET', '/api/people');
    const ann = people.find(({ name }: { name: string }) => name === 'Ann Lee').id;
    const layer = { people: [ann], rotation: 'day', startsOn: '2026-01-01', handover: '00:00', zone: 'Europe/Berlin' };
    await call(platform, 'PUT', '/api/on-call/platform', { name: 'Platform', layers: [layer] });
    const admin = await personAt('ann', '/settings/teams');
    const row = admin.getByRole('row', { name: /Platform/ });
    await row.getByText('layer 1').waitFor();
    await admin.getByRole('button', { name: 'Override Platform' }).click();
    let dialog = admin.getByRole('dialog');
    await dialog.getByLabel('Who').selectOption({ label: 'Ben Okafor' });
    await dialog.getByLabel('From now, for').selectOption('4');
    await dialog.getByRole('button', { name: 'Add override' }).click();
    await row.getByText('override', { exact: true }).waitFor();
    await row.getByText(/^Ben Okafor from/).waitFor();
    await admin.setViewportSize({ width: 390, height: 844 });
    await row.getByText(/^Ben Okafor from/).waitFor();
    const overflow = await admin.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    assert.equal(overflow, 0);
    await admin.setViewportSize({ width: 1280, height: 900 });

    await admin.goto(`${address}/settings/policies`);
    await admin.getByRole('button', { name: 'Change Payments' }).click();
    dialog = admin.getByRole('dialog');
    await dialog.getByLabel(/^Team Finance/).uncheck();
    await dialog.getByLabel(/^On call: Platform/).check();
    await dialog.getByText('Only 1 person is named today').waitFor();
    await dialog.getByLabel('How many must approve').selectOption('1');
    await dialog.getByRole('button', { name: 'Save policy' }).click();
    await admin.getByText('1 of Platform, on call: Ben Okafor').waitFor();

    const run = await new Agent(platform, { agentId: 'billing-1', task: 'pay again' }).start();
    await run.asks('pay_invoice', { amount: 13 });
    const { alerts } = await call(platform, 'GET', `/api/alerts?kind=approval&runId=${run.runId}`);
    const path = `/approvals?id=${alerts[0].id}`;
    await admin.goto(address + path);
    const votes = admin.getByRole('region', { name: 'Votes' });
    await votes.getByText('Platform, on call: Ben Okafor', { exact: true }).waitFor();
    await votes.getByText(/^The policy of this approval does not name you/).waitFor();
    await admin.setViewportSize({ width: 390, height: 844 });
    await votes.getByText('Platform, on call: Ben Okafor', { exact: true }).waitFor();
    const ben = await personAt('ben', path);
    await ben.getByRole('button', { name: /Approve once…/ }).click();
    await ben.getByRole('button', { name: 'Approve once', exact: true }).click();
    await ben.getByText('pay_invoice approved once').waitFor();
    for (const one of [ben, admin]) await one.context().close();
  });

  void it('requires single sign-on only with its two proofs, and signs out everywhere', async () => {
    const admin = await personAt('ann', '/settings/providers');
    await admin.getByRole('button', { name: 'Require…' }).click();
    let dialog = admin.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Require single sign-on' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/Create a break-glass key/)
      .waitFor();
    await dialog.getByRole('button', { name: 'Create one' }).click();
    await dialog.getByText('shown this once').waitFor();
    await dialog.getByRole('button', { name: 'Require single sign-on' }).click();
    await admin.getByText('required', { exact: true }).waitFor();
    const other = await open(await newContext(), '/');
    await other.getByText('Break-glass key').waitFor();

    await admin.getByRole('button', { name: 'No longer require…' }).click();
    dialog = admin.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Allow keys again' }).click();
    await admin.getByText('required', { exact: true }).waitFor({ state: 'detached' });

    const second = await personAt('ann', '/you');
    await admin.goto(`${address}/you`);
    await admin.getByRole('button', { name: 'Sign out everywhere' }).click();
    await admin.getByRole('link', { name: 'Continue with Acme login' }).waitFor();
    assert.equal((await second.request.get(`${address}/api/me`)).status(), 401);
    const { keys } = await call(platform, 'GET', '/api/keys');
    assert.ok(keys.some(({ breakGlass }: { breakGlass: boolean }) => breakGlass));
  });
});
