import { MAX_IMPORTED_DEVICES } from '../../core/contract/schemas/pass-import.ts'
import { byPlatform, type Platform } from '../../core/contract/schemas/platform.ts'
import { idBound } from '../../core/ids.ts'
import { barcodeMessage } from '../../core/rules/display/card.ts'
import { looseName } from '../../core/rules/lists/search.ts'
import { isUnissued } from '../../core/rules/pass/pass-status.ts'
import { buildScope } from '../../core/rules/template/resolve.ts'
import type { HandOverFilter, HandOverPass } from '../../storage/operations/hand-over.ts'
import type { Store } from '../../storage/store.ts'
import { SERVER_IDENTITY, type StoredIdentity } from '../../storage/workspaces/identities-repository.ts'
import { createDefinitions, type Definitions } from '../wallet-sync/definitions.ts'
import { getIdentity } from './manage-identities.ts'
import { auditOperator, getWorkspace, OperatorError } from './operator.ts'

export interface HandOverSearch {
  workspace: string
  project?: string | undefined
  template?: string | undefined
  /**
   * The identity whose passes are exported. Default: all identities, but an import accepts only one. `server` is the
   * identity that the flags of serve configure.
   */
  identity?: string | undefined
}

export interface OwnNames {
  platforms: readonly Platform[]
  /** The pass type of the identity in the flags. Without it, import cannot compare the identity. */
  passTypeIdentifier?: string | undefined
  /** The issuer of the identity in the flags. Required if its passes have Google objects. */
  issuerId?: string | undefined
}

/** The fixed columns. Columns named after variables follow them. */
const COLUMNS = [
  'externalPassId',
  'label',
  'template',
  'serialNumber',
  'passTypeIdentifier',
  'authenticationToken',
  'googleObjectId',
  'scanPayload',
  'status',
  'groupKey',
  'devices',
] as const
type Column = (typeof COLUMNS)[number]

export interface HandOverCounts {
  passes: number
  devices: number
  googleObjects: number
  /** The number of passes left out because they were never issued, so that no phone holds them. */
  unissued: number
  /** The number of devices left out: those above 100 per pass, and those that `isExportable` rejects. */
  devicesLeftOut: number
  /** The number of values left out because they are empty, or because their variable gets no column. */
  valuesLeftOut: number
}

export interface HandOverOptions {
  at: Date
  names: OwnNames
  signal: AbortSignal
  onProgress: (passesRead: number, rows: number) => void
}

/** The number of passes per page. A page takes at most 32 MiB, even if all values have the maximum size. */
const PAGE = 500

/** The maximum number of columns for variables. Only passes with undeclared variables can exceed it. */
const MAX_VARIABLES = 1_000

/**
 * Opens the rows with which `passes import` on another server takes over the passes of a workspace (decisions/0020).
 * The rows contain secrets. Reads in pages, without a common snapshot. Passes can change between two pages, unless the
 * server is read-only (`serve --freeze`).
 * @throws OperatorError if a name is unknown or ambiguous; the reason of the signal if the signal aborts
 */
export async function openHandOver(store: Store, search: HandOverSearch, options: HandOverOptions) {
  const { at, signal, onProgress } = options
  const { id: workspaceId, name } = await getWorkspace(store, search.workspace)
  const named = async (table: 'projects' | 'templates', text: string | undefined) => {
    if (text === undefined) return undefined
    const [id, other] = await store.handOver.listNamed(workspaceId, table, text)
    if (id === undefined)
      throw new OperatorError(`${table === 'projects' ? 'Project' : 'Template'} ${text} not found in ${name}.`)
    if (other !== undefined) throw new OperatorError(`Several ${table} are called ${text}: give the ID.`)
    return id
  }
  const filter: HandOverFilter = {
    projectId: await named('projects', search.project),
    templateId: await named('templates', search.template),
    identityId: await findIdentity(store, search.identity),
    until: idBound(at.getTime() + 1),
  }
  const total = await store.handOver.count(workspaceId, filter)
  const variables = await collectVariables(store, { workspaceId, filter }, { signal, onProgress })
  const counts: HandOverCounts = {
    passes: 0,
    devices: 0,
    googleObjects: 0,
    unissued: 0,
    devicesLeftOut: 0,
    valuesLeftOut: 0,
  }
  const rows = createRows(store, { names: options.names, variables, counts })
  async function* passPages() {
    for (let after: string | undefined; ; ) {
      signal.throwIfAborted()
      const page = await store.handOver.list(workspaceId, filter, { after, limit: PAGE })
      yield page
      if (page.length < PAGE) return
      after = page.at(-1)!.pass.id
    }
  }
  async function* pages() {
    let passesRead = total
    for await (const page of passPages()) {
      const cells = []
      for (const one of page) {
        const row = await rows.of(one)
        if (row) cells.push(row)
      }
      if (cells.length > 0) yield cells
      passesRead += page.length
      onProgress(passesRead, counts.passes)
    }
  }
  async function* balances() {
    yield [BALANCE_COLUMNS]
    for await (const page of passPages()) yield page.flatMap(balanceRows)
  }
  return {
    /** The number of passes to read. Each pass is read twice, the first time only for the column names. */
    total,
    header: [...COLUMNS, ...variables],
    pages: pages(),
    /** The rows for `passes balances import`: an entry for each balance that differs from its start value. */
    balances: balances(),
    /** The counts of the pages that were read so far. */
    counts,
    identities: rows.identities,
    /** Records the hand-over and its counts, but no pass data, in the audit log. */
    async audit(moment: Date): Promise<void> {
      const entry = { action: 'pass.export' as const, targetId: null, targetCount: counts.passes }
      await store.transaction((tx) => auditOperator(tx, workspaceId, entry, moment))
    },
  }
}

const BALANCE_COLUMNS = ['externalPassId', 'balance', 'delta', 'externalRef', 'reason']

/** Returns an entry for each balance that differs from its start value, which the template on the next server sets. */
function balanceRows({ pass }: HandOverPass): string[][] {
  // Omit a void pass: the next server would reject entries for its balances.
  if (isQueuedOrFailed(pass) || pass.status === 'VOID') return []
  const changed = Object.entries(pass.balanceSums ?? {}).filter(([, { sum }]) => sum !== 0)
  return changed.map(([name, { sum }]) => [
    pass.externalPassId,
    name,
    String(sum),
    `handover-${pass.id}`,
    'Handed over',
  ])
}

function isQueuedOrFailed({ status }: HandOverPass['pass']): boolean {
  return isUnissued(status) || status === 'FAILED'
}

async function findIdentity(store: Store, name: string | undefined): Promise<string | null | undefined> {
  if (name === undefined) return undefined
  if (name === SERVER_IDENTITY) return null
  return (await getIdentity(store, name)).id
}

async function collectVariables(
  store: Store,
  { workspaceId, filter }: { workspaceId: string; filter: HandOverFilter },
  { signal, onProgress }: Pick<HandOverOptions, 'signal' | 'onProgress'>,
): Promise<string[]> {
  const names = new Set<string>()
  let passesRead = 0
  for (let after: string | undefined; ; ) {
    signal.throwIfAborted()
    const page = await store.handOver.listVariables(workspaceId, filter, { after, limit: PAGE })
    for (const { variables } of page) for (const name of Object.keys(variables)) if (isColumn(name)) names.add(name)
    if (names.size > MAX_VARIABLES) {
      throw new OperatorError(
        `The passes have more than ${MAX_VARIABLES} different variables, each of which needs a column: export them by template ` +
          '(--template) or by project (--project).',
      )
    }
    passesRead += page.length
    onProgress(passesRead, 0)
    if (page.length < PAGE) return [...names]
    after = page.at(-1)!.id
  }
}

/**
 * Whether a variable gets a column. Excludes each spelling of the name of a fixed column, because import ignores case,
 * spaces, underscores, and hyphens.
 */
function isColumn(name: string): boolean {
  return name !== '' && name.trim() === name && !/[\p{Cc}\uFFFD]/u.test(name) && !OWN.has(looseName(name))
}

const OWN = new Set([...COLUMNS, 'error'].map(looseName))

function createRows(
  store: Store,
  { names, variables, counts }: { names: OwnNames; variables: string[]; counts: HandOverCounts },
) {
  const definitions = createDefinitions(store)
  const known = new Map<string, StoredIdentity>()
  const identities = byPlatform(() => new Set<string>())
  const columns = new Set(variables)

  async function findOne(id: string | null): Promise<StoredIdentity | undefined> {
    if (id === null) return undefined
    const identity = known.get(id) ?? (await store.identities.listByIds([id]))[0]
    if (identity) known.set(id, identity)
    return identity
  }

  async function appleCells({ pass, devices }: HandOverPass): Promise<Partial<Record<Column, string>>> {
    const { appleIdentityId, serialNumber, appleToken: authenticationToken } = pass
    if (!names.platforms.includes('apple')) return {}
    const identity = await findOne(appleIdentityId)
    identities.apple.add(identity?.name ?? SERVER_IDENTITY)
    const exported = devices.filter(isExportable).slice(-MAX_IMPORTED_DEVICES)
    counts.devices += exported.length
    counts.devicesLeftOut += devices.length - exported.length
    return {
      serialNumber,
      authenticationToken,
      passTypeIdentifier: (identity ? identity.passTypeIdentifier : names.passTypeIdentifier) ?? '',
      devices: exported.map(({ deviceId, pushToken }) => `${deviceId}:${pushToken}`).join(' '),
    }
  }

  async function googleCells({ pass, objectSuffix }: HandOverPass): Promise<Partial<Record<Column, string>>> {
    if (objectSuffix === null || !names.platforms.includes('google')) return {}
    const identity = await findOne(pass.googleIdentityId)
    identities.google.add(identity?.name ?? SERVER_IDENTITY)
    const issuerId = identity ? identity.issuerId : names.issuerId
    if (issuerId == null) {
      throw new OperatorError(
        "Passes exist at Google under the server's issuer, which is not stored in the database. Give the " +
          '--google-issuer-id of "passes serve". Nothing was written.',
      )
    }
    counts.googleObjects += 1
    return { googleObjectId: `${issuerId}.${objectSuffix}` }
  }

  return {
    identities,
    /** Returns the cells of a pass; undefined if it was never issued. */
    async of(one: HandOverPass): Promise<string[] | undefined> {
      const { pass, templateKey } = one
      if (isQueuedOrFailed(pass)) {
        counts.unissued += 1
        return undefined
      }
      const own: Partial<Record<Column, string>> = {
        externalPassId: pass.externalPassId,
        label: pass.label,
        template: templateKey ?? pass.templateName,
        scanPayload: await codeOf(pass, definitions),
        // Export an expired pass as ISSUED, because it expires on the other server, too.
        status: pass.status === 'VOID' ? 'VOID' : 'ISSUED',
        groupKey: pass.group?.key ?? '',
        ...(await appleCells(one)),
        ...(await googleCells(one)),
      }
      counts.passes += 1
      counts.valuesLeftOut += Object.entries(pass.variables).filter(([n, v]) => !columns.has(n) || v === '').length
      const value = (name: string) => textOf(Object.hasOwn(pass.variables, name) ? pass.variables[name] : undefined)
      return [...COLUMNS.map((column) => own[column] ?? ''), ...variables.map(value)]
    },
  }
}

/** Returns the code that scanners read. Exporting the code keeps it the same under any template on the other server. */
async function codeOf(pass: HandOverPass['pass'], definitions: Definitions): Promise<string> {
  if (pass.scanPayload !== null) return pass.scanPayload
  const definition = await definitions.find(pass.workspaceId, pass.templateVersionId)
  if (!definition) throw new OperatorError(`The template version of pass ${pass.id} is missing: run "passes doctor".`)
  return barcodeMessage(definition, buildScope(definition, pass, pass.expiresAt))
}

/** Whether a cell can contain the device: import splits devices at spaces, and device ID and token at a colon. */
function isExportable({ deviceId, pushToken }: HandOverPass['devices'][number]): boolean {
  return !/[\s\p{Cc}]/u.test(deviceId) && deviceId.length <= 255 && /^[0-9A-Za-z]{1,200}$/.test(pushToken)
}

/** Returns the text of a value. Declared variables are strings; other values are written as JSON. */
function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
