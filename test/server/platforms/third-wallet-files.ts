/** A text in a file, and its replacement. */
type Edit = readonly [text: string, replacement: string]

/** The files that a third wallet adds, by path. @param service the address of the service of its platform */
export function addedFiles(service: string): Record<string, string> {
  return {
    'src/wallets/fake/wallet.ts': `import { ApiError } from '../../core/errors.ts'
import type { Wallet, WalletPass } from '../wallet.ts'

export interface FakeWallet extends Wallet {
  render(pass: WalletPass): { title: string; seat: string | undefined }
}

export function createFakeWallet(): FakeWallet {
  const render: FakeWallet['render'] = ({ card }) => ({
    title: card.description,
    seat: card.fields.primary[0]?.value,
  })
  return {
    platform: 'fake',
    account: 'fake',
    render,
    async check(pass) {
      if (render(pass).title !== '') return
      throw new ApiError('PASS_ISSUING_FAILED', { message: 'A title is missing', details: { platform: 'fake' } })
    },
  }
}

async function send(method: string, path: string, body?: unknown): Promise<void> {
  const response = await fetch(\`${service}\${path}\`, { method, body: JSON.stringify(body) ?? null })
  if (!response.ok) throw new Error(\`The service responds with \${response.status}\`)
}

/** The calls of the service. */
export const service = {
  put: (id: string, object: unknown) => send('PUT', \`/objects/\${id}\`, object),
  remove: (id: string) => send('DELETE', \`/objects/\${id}\`),
  message: (id: string, text: unknown) => send('POST', \`/objects/\${id}/messages\`, { text }),
  saveUrl: (id: string) => \`${service}/save/\${id}\`,
}
`,
    'src/server/platforms/fake.ts': `import { readJson } from '../http/request-body.ts'
import { z } from 'zod'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Services } from '../context.ts'
import { createFakeWallet, service } from '../../wallets/fake/wallet.ts'
import { emitHoldings } from '../wallet-sync/holders.ts'
import { type Delivery, type PlatformSetup, render } from './delivery.ts'

const Callback = z.object({ id: z.string(), event: z.enum(['saved', 'removed']) })

const wallet = createFakeWallet()

export const fakeSetup = {
  hasCredentials: () => true,
  load: async () => ({ account: 'fake' }),
  createWallet: () => wallet,
  inSandbox: 'nothing leaves the server',
  renewFlags: '',
  describe: async () => ({ account: 'fake' }),
} satisfies PlatformSetup<{ account: string }>

export const fake: Delivery = {
  mount(app, { store, clock }) {
    app.post('/fake/callbacks', async (event) => {
      const { id, event: change } = Callback.parse(await readJson(event, 1_000))
      await store.transaction(async (tx) => {
        const held = await tx.fakeWallets.addHolders(id, change === 'saved' ? 1 : -1)
        if (held) await emitHoldings(tx, held.workspaceId, [held.passId], { at: clock(), correlationId: null })
      })
      return new Response(null, { status: 200 })
    })
  },
  async open(pass, _request, { issuing, store }, at) {
    await put(pass, { issuing, store }, at)
    return new Response(null, { status: 302, headers: { location: service.saveUrl(pass.copyId) } })
  },
  async update(jobs, { issuing, store, clock }) {
    for (const job of jobs) {
      const pass = await store.passes.find(job.workspaceId, job.subject)
      if (pass) await put(pass, { issuing, store }, clock())
      await store.statement((tx) => tx.jobs.complete([job]))
    }
  },
  async message(jobs, { store, clock }) {
    for (const job of jobs) {
      const [notification] = await store.notifications.listByIds(job.workspaceId, [job.subject])
      const pass = await store.passes.find(job.workspaceId, notification!.passId)
      await service.message(pass!.copyId, notification!.body)
      await store.transaction(async (tx) => {
        await tx.jobs.complete([job])
        await tx.notifications.update(job.workspaceId, new Map([[job.subject, { fake_status: 'SENT' }]]), clock())
      })
    }
  },
  async expire(jobs, { store }) {
    for (const job of jobs) {
      for (const id of await store.fakeWallets.listFormer(job.workspaceId, job.subject)) await service.remove(id)
      await store.statement((tx) => tx.jobs.complete([job]))
    }
  },
  end: (tx, { workspaceId, id }) => tx.fakeWallets.end(workspaceId, id),
}

async function put(pass: StoredPass, { issuing, store }: Pick<Services, 'issuing' | 'store'>, at: Date): Promise<void> {
  await service.put(pass.copyId, wallet.render(await render(pass, issuing)))
  await store.statement((tx) => tx.fakeWallets.setSent(pass, at))
}
`,
    'src/storage/passes/fake-wallets.ts': `import type { Knex } from 'knex'
import type { StoredPass } from './pass-row.ts'

export class FakeWallets {
  private readonly db: Knex

  constructor({ db }: { db: Knex }) {
    this.db = db
  }

  async setSent({ workspaceId, id, copyId, walletVersion }: StoredPass, at: Date): Promise<void> {
    await this.db('fake_objects')
      .insert({ workspace_id: workspaceId, pass_id: id, object_id: copyId, sent_version: walletVersion, sent_at: at.getTime() })
      .onConflict('object_id')
      .merge(['sent_version', 'sent_at'])
  }

  async addHolders(objectId: string, change: number): Promise<{ workspaceId: string; passId: string } | undefined> {
    const rows = this.db('fake_objects').where({ object_id: objectId, is_former: false })
    const [row] = await rows.update({ holders: this.db.raw('holders + ?', [change]) }).returning('*')
    return row && { workspaceId: row.workspace_id, passId: row.pass_id }
  }

  async end(workspaceId: string, passId: string): Promise<boolean> {
    const rows = this.db('fake_objects').where({ workspace_id: workspaceId, pass_id: passId })
    return (await rows.update({ is_former: true, holders: 0 })) > 0
  }

  async listFormer(workspaceId: string, passId: string): Promise<string[]> {
    const rows = this.db('fake_objects').where({ workspace_id: workspaceId, pass_id: passId, is_former: true })
    return rows.pluck('object_id')
  }
}
`,
    'src/storage/migrations/0002-fake-wallet.ts': `import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('fake_objects', (table) => {
    table.uuid('object_id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.integer('sent_version').notNullable()
    table.bigInteger('sent_at').notNullable()
    table.integer('holders').notNullable().defaultTo(0)
    table.boolean('is_former').notNullable().defaultTo(false)
  })
  for (const name of ['passes', 'projects', 'workspaces'])
    await db.schema.alterTable(name, (table) => void table.uuid('fake_identity_id'))
  await db.schema.alterTable('held_passes', (table) => void table.integer('fake').notNullable().defaultTo(0))
  await db.schema.alterTable('notifications', (table) => {
    table.text('fake_status').notNullable().defaultTo('SKIPPED')
    table.text('fake_error')
  })
}
`,
  }
}

/** The changes of other files, by path. */
export const changedFiles: Record<string, readonly Edit[]> = {
  'src/core/contract/schemas/platform.ts': [
    ["z.enum(['apple', 'google'])", "z.enum(['apple', 'google', 'fake'])"],
    [
      'platformFacts: Record<Platform, PlatformFacts> = {\n',
      `platformFacts: Record<Platform, PlatformFacts> = {
  fake: {
    company: 'Fake',
    wallet: 'Fake Wallet',
    phone: 'android',
    provider: 'fake',
    signingError: 'PASS_ISSUING_FAILED',
  },
`,
    ],
  ],
  'src/server/platforms/deliveries.ts': [
    ['import { google,', "import { fake, fakeSetup } from './fake.ts'\nimport { google,"],
    ['{ apple, google }', '{ apple, google, fake }'],
    ['{ apple: appleSetup,', '{ fake: fakeSetup, apple: appleSetup,'],
  ],
  'src/storage/passes/wallet-tables.ts': [
    ['import { GoogleObjects }', "import { FakeWallets } from './fake-wallets.ts'\nimport { GoogleObjects }"],
    [
      'walletTables: Record<Platform, WalletTable> = {\n',
      `walletTables: Record<Platform, WalletTable> = {
  fake: {
    table: 'fake_objects',
    holds: 'wallet.holders > 0',
    isStale: 'wallet.sent_version < passes.wallet_version',
    devices: 'sum(wallet.holders)',
    columns: {
      held_version: 'wallet.sent_version',
      held_since: 'wallet.sent_at',
      fetched_at: 'cast(null as bigint)',
      pushed_version: 'wallet.sent_version',
      pushed_at: 'wallet.sent_at',
      last_error: 'cast(null as text)',
    },
  },
`,
    ],
    ['walletRepositories = {\n', 'walletRepositories = {\n  fakeWallets: FakeWallets,\n'],
  ],
  'src/storage/db/migrate.ts': [
    [
      "import * as baseline from '../migrations/0001-baseline.ts'\n",
      "import * as baseline from '../migrations/0001-baseline.ts'\nimport * as fakeWallet from '../migrations/0002-fake-wallet.ts'\n",
    ],
    ["'0001-baseline': baseline", "'0001-baseline': baseline, '0002-fake-wallet': fakeWallet"],
  ],
}
