/**
 * Writes docs/protocols.md: what phones, passes, APNs and Google Wallet say to each other in the life of one pass,
 * recorded from a real run against the sandbox. Run it with `npx tsx scripts/record-protocols.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRecording } from './protocols/recording.ts'
import { writeStep } from './protocols/writing.ts'

// First of all: what loads behind it is recorded.
const recording = startRecording()
const { createClient } = await import('../src/client/client.ts')
const { readTemplateFile } = await import('../src/cli/template/template-file.ts')
const { pushTemplate } = await import('../src/cli/template/template-push.ts')
const { deviceFor, passIdsOf, phoneOf } = await import('../src/cli/device/phones.ts')
const { startServer } = await import('../src/server/boot/serve.ts')
const { default: pino } = await import('pino')

const folder = mkdtempSync(join(tmpdir(), 'passes-protocols-'))
const server = await startServer({
  log: pino({ level: 'error' }),
  config: {
    host: '127.0.0.1',
    port: 0,
    databaseUrl: `sqlite:${join(folder, 'passes.db')}`,
    role: 'all',
    isProduction: false,
    allowInsecureWebhooks: false,
    platforms: ['apple', 'google'],
    previousServerKeys: [],
    faults: [],
    rateLimit: 0,
    maxConnections: 1_000,
    rateBurst: 0,
    linkTtlDays: 400,
    retention: { deliveriesDays: 30, auditDays: 365 },
    trustedProxies: 0,
    apple: {},
    google: {},
  },
})
const client = createClient({ url: server.url, token: server.firstToken! })
const lines: string[] = []

/** Does something, waits until it has had its consequences, and writes down what was said meanwhile. */
async function step(title: string, text: string, work: () => Promise<unknown>, isDone?: () => Promise<boolean>) {
  await work()
  while (isDone && !(await isDone())) await sleep(20)
  // Acknowledgements of callbacks come behind what they acknowledge.
  await sleep(100)
  lines.push(writeStep(title, text, recording.take()))
}

const template = new URL('../examples/loyalty/template.json', import.meta.url).pathname
let templateId = ''
const create = (externalPassId: string) => {
  const variables = { points: '1240', tier: 'Silver', memberSince: '2019-10-01' }
  return client.passes.create({ body: { externalPassId, label: 'Ada Lovelace', templateId, variables } })
}
const wallets = (id: string) => client.passes.wallets({ params: { id } })

lines.push(`# What is said: Apple and Google

One pass for Apple and one for Google, from the link to the end, recorded from a real run: the program, a virtual
iPhone, a virtual Android phone, and the sandbox in the place of APNs and Google Wallet. The provider code is the same
against the real ones; only addresses, keys and trust roots differ. Tokens, keys and signatures are shortened (…),
headers that say nothing are left out, and an exchange stands behind those that it had to wait for.

Made by \`npx tsx scripts/record-protocols.ts\`; do not edit.
`)

await step(
  'Before: a template is published',
  'Google wants a class for what all passes of a template share. It is made when a version is published: a token for ' +
    'the service account first, then an insert; a class that is there already is replaced.',
  async () => {
    templateId = (await pushTemplate(client, await readTemplateFile(template), { publish: true })).templateId
  },
  async () => recording.hasSeen(/POST .*\/loyaltyClass/),
)

lines.push('# Apple\n')
const pass = await create('MEMBER-1')
const iphone = deviceFor(join(folder, 'phones'), 'apple')
await step(
  'A phone opens the link, and registers',
  'The link gives the signed package. The phone verifies it and registers for the serial number: with the ' +
    'authentication token of the pass, and with a push token of its own. Then it asks for the pass once more, since what ' +
    'changed between download and registration came with no push.',
  () => phoneOf(iphone).install(pass.hostedLinks.apple!),
)
await step(
  'The pass changes',
  'A variable is updated (`PATCH /v1/passes/{id}`). The update and its job are one transaction; the job sends an empty ' +
    'push, which says no more than "look". `apns-topic` is the pass type, and the client certificate the one that signs.',
  () => client.passes.update({ params: { id: pass.id }, body: { variables: { points: '1300' } } }),
  async () => (await wallets(pass.id)).apple[0]?.pushedVersion === 2,
)
await step(
  'The phone asks what changed, and fetches it',
  'No secret is needed for the list: the device id is one. The tag `lastUpdated` is opaque and grows with every change, ' +
    'also with two in one millisecond. `Last-Modified` moves by at least a second with each change, so that ' +
    '`If-Modified-Since` never misses one. On the lock screen stands now: "Your balance is now 1300 points."',
  () => phoneOf(iphone).check(),
)
await step('It asks again', 'Nothing is newer than its tag: 204, and nothing is fetched.', () =>
  phoneOf(iphone).check(),
)
await step(
  'The pass is voided',
  'One more push. A void pass is served all the same, with `voided: true`, and stays on the phone, greyed out.',
  async () => {
    await client.passes.void({ params: { id: pass.id }, body: { reason: 'lost' } })
    while ((await wallets(pass.id)).apple[0]?.pushedVersion !== 3) await sleep(20)
    await phoneOf(iphone).check()
  },
)
await step('Its holder deletes it', 'The phone unregisters; nothing is pushed to it any more.', () =>
  phoneOf(iphone).remove(passIdsOf(iphone.read())[0]!),
)

lines.push('# Google\n')
const second = await create('MEMBER-2')
const android = deviceFor(join(folder, 'phones'), 'google')
await step(
  'A phone opens the link, and saves the pass',
  'Only now is the object made at Google, so that passes which nobody installs cost nothing. The answer leads to Google ' +
    'with a JWT that names object and class and is short enough for any browser. Google then reports the save with a ' +
    'callback that is signed by a key which a root key signed; roots are fetched once and kept.',
  () => phoneOf(android).install(second.hostedLinks.google!),
  async () => (await wallets(second.id)).google?.installedAt != null,
)
await step(
  'The pass changes',
  'The same `PATCH /v1/passes/{id}` as above: here the object is patched, and Google tells the phones.',
  () => client.passes.update({ params: { id: second.id }, body: { variables: { points: '1300' } } }),
  async () => (await wallets(second.id)).google?.sentVersion === 2,
)
await step(
  'The pass is voided',
  'The state says that it is over: an end of validity alone may take Google a day.',
  () => client.passes.void({ params: { id: second.id }, body: {} }),
  async () => (await wallets(second.id)).google?.sentVersion === 3,
)
await step(
  'Its holder deletes it',
  'Another callback. Its nonce is remembered, so that one that comes twice counts once.',
  () => phoneOf(android).remove(passIdsOf(android.read())[0]!),
  async () => (await wallets(second.id)).google?.installedAt == null,
)

await client.close()
await server.close()
rmSync(folder, { recursive: true, force: true })
writeFileSync(new URL('../docs/protocols.md', import.meta.url), lines.join('\n'))
// Connections that are kept alive would keep the process.
process.exit(0)
