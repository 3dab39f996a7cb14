import { MAX_IMPORTED_DEVICES } from '../../core/contract/pass-import.ts'
import type { Platform } from '../../core/contract/platform.ts'
import { idBound } from '../../core/ids.ts'
import { barcodeMessage } from '../../core/rules/display/card.ts'
import { looseName } from '../../core/rules/pass/column-names.ts'
import { buildScope } from '../../core/rules/template/resolve.ts'
import type { HandOverFilter, HandOverPass } from '../../storage/operations/hand-over.ts'
import type { Store } from '../../storage/store.ts'
import { SERVER_IDENTITY, type StoredIdentity } from '../../storage/workspaces/identities.ts'
import { createDefinitions, type Definitions } from '../wallet-sync/definitions.ts'
import { auditOperator, getWorkspace, OperatorError } from './operator.ts'

/** Which passes are handed over, by names or ids. */
export interface HandOverSearch {
  workspace: string
  project?: string | undefined
  template?: string | undefined
  /** Of one identity alone, as one import takes; `server` is what the flags of serve give. */
  identity?: string | undefined
}

/** What the database does not say of the server itself. */
export interface OwnNames {
  platforms: readonly Platform[]
  /** Of the identity that the flags give; where it is left out, import has nothing to compare. */
  passTypeIdentifier?: string | undefined
  /** Needed for passes of that identity that are kept at Google. */
  issuerId?: string | undefined
}

/** Cells that say of themselves what they are; the names of variables stand after them. */
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

/** What a hand-over came to. */
export interface HandOverCounts {
  passes: number
  /** Phones that import can be told of. */
  devices: number
  googleObjects: number
  /** Passes that were never issued: nobody holds them. */
  unissued: number
  /** Phones beyond the hundred of a pass, or whose names a cell cannot hold. */
  devicesLeftOut: number
  /** Values whose variable is called as a column of the pass itself, and empty ones. */
  valuesLeftOut: number
}

/** A hand-over that is read row by row. */
export interface OpenHandOver {
  /** Passes that are looked at, each twice: once for the names of the columns. */
  total: number
  header: string[]
  /** Pages of rows, in the columns of the header. */
  pages: AsyncIterable<string[][]>
  /** Grows with the pages. */
  counts: HandOverCounts
  /** Identities that rows are of, by name: an import takes one of each platform. */
  identities: Record<Platform, Set<string>>
  /** Notes that it was done, with the counts and no value. */
  audit(at: Date): Promise<void>
}

/** How a hand-over is read. */
export interface HandOverOptions {
  at: Date
  names: OwnNames
  signal: AbortSignal
  /** Passes that were looked at, of twice the total, and rows among them. */
  onProgress: (looked: number, rows: number) => void
}

/** Passes of a page: with the largest values of all, 32 MiB. */
const PAGE = 500

/** More columns than that come of variables that no template declares. */
const MAX_VARIABLES = 1_000

/**
 * Opens what `passes import` needs to take the passes of a workspace over on another server (decisions/0020), with their secrets.
 * It reads in pages, passes that are there now, as each stands when it is read: a server that only reads (`serve --freeze`) changes none.
 * @throws OperatorError for a name that nothing has, or that several have; where the signal stops it
 */
export async function openHandOver(
  store: Store,
  search: HandOverSearch,
  options: HandOverOptions,
): Promise<OpenHandOver> {
  const { at, signal, onProgress } = options
  const { id: workspaceId, name } = await getWorkspace(store, search.workspace)
  const named = async (table: 'projects' | 'templates', text: string | undefined) => {
    if (text === undefined) return undefined
    const [id, other] = await store.handOver.listNamed(workspaceId, table, text)
    if (id === undefined) throw new OperatorError(`There is no ${table.slice(0, -1)} ${text} in ${name}.`)
    if (other !== undefined) throw new OperatorError(`Several ${table} are called ${text}: give the id.`)
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
  const counts = { passes: 0, devices: 0, googleObjects: 0, unissued: 0, devicesLeftOut: 0, valuesLeftOut: 0 }
  const rows = createRows(store, { names: options.names, variables, counts })
  async function* pages() {
    let looked = total
    for (let after: string | undefined; ; ) {
      signal.throwIfAborted()
      const page = await store.handOver.list(workspaceId, filter, { after, limit: PAGE })
      const cells = []
      for (const one of page) {
        const row = await rows.of(one)
        if (row) cells.push(row)
      }
      if (cells.length > 0) yield cells
      looked += page.length
      onProgress(looked, counts.passes)
      if (page.length < PAGE) return
      after = page.at(-1)!.pass.id
    }
  }
  return {
    total,
    header: [...COLUMNS, ...variables],
    pages: pages(),
    counts,
    identities: rows.identities,
    async audit(moment) {
      const entry = { action: 'pass.export' as const, targetId: null, targetCount: counts.passes }
      await store.transaction((tx) => auditOperator(tx, workspaceId, entry, moment))
    },
  }
}

async function findIdentity(store: Store, name: string | undefined): Promise<string | null | undefined> {
  if (name === undefined) return undefined
  if (name === SERVER_IDENTITY) return null
  const identity = await store.identities.findAny({ name })
  if (!identity) throw new OperatorError(`There is no identity ${name}; passes identity list shows them.`)
  return identity.id
}

/** The names of variables that a column can have, those that are declared or used first. */
async function collectVariables(
  store: Store,
  { workspaceId, filter }: { workspaceId: string; filter: HandOverFilter },
  { signal, onProgress }: Pick<HandOverOptions, 'signal' | 'onProgress'>,
): Promise<string[]> {
  const names = new Set<string>()
  let looked = 0
  for (let after: string | undefined; ; ) {
    signal.throwIfAborted()
    const page = await store.handOver.listVariables(workspaceId, filter, { after, limit: PAGE })
    for (const { variables } of page) for (const name of Object.keys(variables)) if (isColumn(name)) names.add(name)
    if (names.size > MAX_VARIABLES) {
      throw new OperatorError(
        `The passes have more than ${MAX_VARIABLES} different variables, each of which takes a column: hand them over by template ` +
          '(--template) or by project (--project).',
      )
    }
    looked += page.length
    onProgress(looked, 0)
    if (page.length < PAGE) return [...names]
    after = page.at(-1)!.id
  }
}

/** Import reads columns whatever their case, and with spaces, underscores or hyphens; some of them are the pass's own. */
function isColumn(name: string): boolean {
  return name !== '' && name.trim() === name && !/[\p{Cc}\uFFFD]/u.test(name) && !OWN.has(looseName(name))
}

const OWN = new Set([...COLUMNS, 'error'].map(looseName))

/** Makes the rows of passes, and counts them. */
function createRows(
  store: Store,
  { names, variables, counts }: { names: OwnNames; variables: string[]; counts: HandOverCounts },
) {
  const definitions = createDefinitions(store)
  const known = new Map<string, StoredIdentity>()
  const identities = { apple: new Set<string>(), google: new Set<string>() }
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
    const told = devices.filter(isTellable).slice(-MAX_IMPORTED_DEVICES)
    counts.devices += told.length
    counts.devicesLeftOut += devices.length - told.length
    return {
      serialNumber,
      authenticationToken,
      passTypeIdentifier: (identity ? identity.passTypeIdentifier : names.passTypeIdentifier) ?? '',
      devices: told.map(({ deviceId, pushToken }) => `${deviceId}:${pushToken}`).join(' '),
    }
  }

  async function googleCells({ pass, objectSuffix }: HandOverPass): Promise<Partial<Record<Column, string>>> {
    if (objectSuffix === null || !names.platforms.includes('google')) return {}
    const identity = await findOne(pass.googleIdentityId)
    identities.google.add(identity?.name ?? SERVER_IDENTITY)
    const issuerId = identity ? identity.issuerId : names.issuerId
    if (issuerId == null) {
      throw new OperatorError(
        "Passes are kept at Google under the server's own issuer, which the database does not name: give --google-issuer-id as serve " +
          'has it. Nothing was written.',
      )
    }
    counts.googleObjects += 1
    return { googleObjectId: `${issuerId}.${objectSuffix}` }
  }

  return {
    identities,
    /** The cells of a pass; undefined where it was never issued. */
    async of(one: HandOverPass): Promise<string[] | undefined> {
      const { pass, templateKey } = one
      if (pass.status === 'QUEUED' || pass.status === 'ISSUING' || pass.status === 'FAILED') {
        counts.unissued += 1
        return undefined
      }
      const own: Partial<Record<Column, string>> = {
        externalPassId: pass.externalPassId,
        label: pass.label,
        template: templateKey ?? pass.templateName,
        scanPayload: await codeOf(pass, definitions),
        // An expired one expires there, too.
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

/** What scanners read off the pass, here and on phones: it stays so, whatever the template there says. */
async function codeOf(pass: HandOverPass['pass'], definitions: Definitions): Promise<string> {
  if (pass.scanPayload !== null) return pass.scanPayload
  const definition = await definitions.find(pass.workspaceId, pass.templateVersionId)
  if (!definition) throw new OperatorError(`The template version of pass ${pass.id} is missing: passes doctor.`)
  return barcodeMessage(definition, buildScope(definition.variables, pass, pass.expiresAt))
}

/** The cell of import parts phones by spaces, and the token from the device by the last colon. */
function isTellable({ deviceId, pushToken }: HandOverPass['devices'][number]): boolean {
  return !/[\s\p{Cc}]/u.test(deviceId) && deviceId.length <= 255 && /^[0-9A-Za-z]{1,200}$/.test(pushToken)
}

/** Declared variables are texts; of others a file holds JSON. */
function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
