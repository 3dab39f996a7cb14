import { Args, Flags } from '@oclif/core'
import { defaultLimits, type LimitName, limitNames, MAX_LIMIT } from '../../core/rules/pass/workspace-limits.ts'
import { shellQuote } from '../../core/shell-quote.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredWorkspace } from '../../storage/workspaces/workspaces-repository.ts'
import { parseEnd } from '../arguments/moment.ts'
import { terminalWidth } from '../command/base-command.ts'
import { UsageError } from '../command/cli-error.ts'
import { count, localTime } from '../command/output.ts'
import { itemsCommand, localCommand, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { limitFlag, showLimits } from '../records.ts'
import { databaseFlags } from '../settings/server-flags.ts'

const shape: ListShape<StoredWorkspace> = {
  columns: [
    { name: 'id', whole: true },
    ['name', 'createdAt'],
    { name: 'offlineScanning', value: ({ offlineScanning }) => (offlineScanning ? 'on' : 'off') },
    ['suspendedAt', 'linksClosedAt'],
    { name: 'expiresAt', kind: 'time', title: 'ends', none: 'never' },
  ],
}

const summaries: Record<LimitName, string> = {
  webhooks: 'Maximum number of webhooks',
  passes: 'Maximum number of passes, including void and expired ones',
  storedBytes: 'Maximum total size of images, definitions, and variables: a number of bytes, or a size such as 50GiB',
  waitingJobs: 'Maximum number of waiting jobs',
  draftsPerTemplate: 'Maximum number of drafts per template',
  scheduledSends: 'Maximum number of scheduled notifications and broadcasts',
  requestsInFlight: 'Maximum number of concurrent requests to each server process',
}

const workspaceArgs = { workspace: Args.string({ description: 'Name or ID of the workspace.', required: true }) }

const operator = () => import('../../server/operator/operator.ts')

export const commands: ResourceCommands = {
  'workspace:create': localCommand({
    summary: 'Create a workspace.',
    description: 'A workspace sees only its own projects, templates, passes, and webhooks.',
    examples: ['workspace create --name acme', 'workspace create --name acme --expires 2027-01-01 --json'],
    flags: {
      ...databaseFlags,
      name: Flags.string({ summary: 'Name, unique on this server.', required: true }),
      expires: Flags.string({ summary: 'Expiry: a date, a date-time, or "in 30d" (default: never).' }),
    },
    async run({ flags, note }) {
      const { insertWorkspace, OperatorError, withNewStore } = await operator()
      const now = new Date()
      const expiresAt = flags.expires === undefined ? null : parseEnd(flags.expires, now)
      const insert = (store: Store) => insertWorkspace(store, flags.name, now, { expiresAt })
      const workspace = await withNewStore(flags.database, insert, note)
      if (!workspace) throw new OperatorError(`Workspace ${flags.name} already exists.`)
      return workspace
    },
    print: ({ id, name }) =>
      `Created workspace ${name} (${id}). Next: passes token create --workspace ${shellQuote(name)} --name …`,
  }),
  'workspace:list': itemsCommand({
    summary: 'List the workspaces of the server.',
    examples: ['workspace list', 'workspace list --json'],
    flags: { ...databaseFlags },
    async read({ flags }) {
      const { withStore } = await operator()
      return withStore(flags.database, (store) => store.workspaces.list())
    },
    shape,
    noun: ['workspace', 'workspaces'],
    empty: 'Next: passes workspace create --name NAME',
  }),
  'workspace:update': localCommand({
    summary: 'Set the expiry of a workspace.',
    description:
      'After the expiry, requests with tokens of the workspace return 403 TENANT_EXPIRED, and its jobs wait; nothing is ' +
      'deleted. If you set a later expiry or "never", tokens and jobs resume within two seconds.',
    examples: ['workspace update acme --expires 2027-01-01', 'workspace update acme --expires never --json'],
    args: workspaceArgs,
    flags: {
      ...databaseFlags,
      expires: Flags.string({
        summary: 'Expiry: a date (00:00 UTC), a date-time, "in 30d", or never.',
        required: true,
      }),
    },
    async run({ args, flags }) {
      const at = new Date()
      const { setExpiry } = await operator()
      return setExpiry(flags.database, args.workspace, { expiresAt: parseEnd(flags.expires, at), at })
    },
    print: ({ name, expiresAt }) =>
      expiresAt ? `${name} expires at ${localTime(expiresAt)}.` : `${name} never expires.`,
  }),
  'workspace:limits': localCommand({
    summary: 'Show or change the limits of a workspace.',
    description:
      'Prints each limit with its usage. Each flag changes one limit; the value "default" restores the default. Running ' +
      'servers apply changes within two seconds. Resources beyond a lowered limit remain, but no more can be added.',
    examples: [
      'workspace limits acme',
      'workspace limits acme --webhooks 200 --stored-bytes 50GiB',
      'workspace limits acme --passes default --json',
    ],
    args: workspaceArgs,
    flags: {
      ...databaseFlags,
      ...Object.fromEntries(
        limitNames.map((name) => {
          const summary = `${summaries[name]} (default: ${count(defaultLimits[name])}).`
          return [limitFlag(name), Flags.string({ summary, helpGroup: 'LIMITS' })]
        }),
      ),
    },
    async run({ args, flags }) {
      const given: Record<string, unknown> = flags
      const changes = Object.fromEntries(
        limitNames.flatMap((name) => {
          const text = given[limitFlag(name)]
          return typeof text === 'string' ? [[name, parseLimit(text, name)]] : []
        }),
      )
      const { setLimits } = await operator()
      return setLimits(flags.database, args.workspace, { changes, at: new Date() })
    },
    print: ({ limits, usage }) => showLimits(limits, usage, terminalWidth()),
  }),
  'workspace:offline-scanning': localCommand({
    summary: 'Allow or forbid offline scanning in a workspace.',
    description:
      'Offline scanning is allowed by default. Within two seconds after it is forbidden, downloads of door lists ' +
      'and uploads of offline scans return 403 SCANNER_OFFLINE_DISABLED. Devices keep scans that they have not ' +
      'uploaded. Online scanning continues.',
    examples: [
      'workspace offline-scanning acme off',
      'workspace offline-scanning acme on --database sqlite:./data/passes.db',
    ],
    args: {
      ...workspaceArgs,
      state: Args.string({
        description: 'Whether offline scanning is allowed.',
        options: ['on', 'off'],
        required: true,
      }),
    },
    flags: databaseFlags,
    async run({ args, flags }) {
      const { setOfflineScanning } = await operator()
      return setOfflineScanning(flags.database, args.workspace, { allowed: args.state === 'on', at: new Date() })
    },
    print: ({ name, offlineScanning }) =>
      `Scanning offline is ${offlineScanning ? 'allowed' : 'forbidden'} in ${name}.`,
  }),
  'workspace:suspend': localCommand({
    summary: 'Suspend a workspace.',
    description:
      'Within two seconds, requests with tokens of the workspace return 403 TENANT_SUSPENDED, and its jobs wait; nothing ' +
      'is deleted. Hosted links keep working; with --links, they are closed until the workspace is resumed. Phones ' +
      'can still fetch their passes.',
    examples: ['workspace suspend acme', 'workspace suspend acme --links --database sqlite:./data/passes.db --yes'],
    args: workspaceArgs,
    flags: {
      ...databaseFlags,
      links: Flags.boolean({ summary: 'Also close the hosted links of the workspace.' }),
    },
    asks: true,
    async run({ args, flags, ask }) {
      await ask(`Suspend ${args.workspace}?`)
      const { setSuspended } = await operator()
      const options = { isSuspended: true, closesLinks: flags.links, at: new Date() }
      return setSuspended(flags.database, args.workspace, options)
    },
    print: ({ name, linksClosedAt }) => `Suspended ${name}${linksClosedAt ? ' and closed its links' : ''}.`,
  }),
  'workspace:resume': localCommand({
    summary: 'Resume a suspended workspace.',
    description: 'The tokens of the workspace, and its links if they were closed, work again within two seconds.',
    examples: ['workspace resume acme', 'workspace resume acme --database sqlite:./data/passes.db'],
    args: workspaceArgs,
    flags: databaseFlags,
    async run({ args, flags }) {
      const { setSuspended } = await operator()
      return setSuspended(flags.database, args.workspace, { isSuspended: false, at: new Date() })
    },
    print: ({ name }) => `Resumed ${name}.`,
  }),
}

const units: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 }

/** @throws UsageError */
function parseLimit(text: string, name: LimitName): number | null {
  if (text === 'default') return null
  const [, digits, unit] = /^(\d{1,16})([KMGT]iB)?$/.exec(text) ?? []
  const value = Number(digits) * (unit ? units[unit]! : 1)
  if (digits !== undefined && value <= MAX_LIMIT && (!unit || name === 'storedBytes')) return value
  const example = name === 'storedBytes' ? 'a number of bytes such as 10737418240 or 10GiB' : 'a whole number'
  throw new UsageError(`--${limitFlag(name)} must be ${example}, or default, not "${text}"`)
}
