import { type PassFilter, parsePassFilter } from '../../core/contract/schemas/pass-filter.ts'
import { MAX_FAILURES, type UpgradeStatus } from '../../core/contract/templates/upgrades.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import { idBound } from '../../core/ids.ts'
import { passStatuses } from '../../core/rules/pass/pass-status.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { isPartOf, readChunk } from '../db/dialect.ts'
import { byId, type ListPage, listPage, NEWEST_FIRST, type PageRequest } from '../db/list-query.ts'
import { field, findRecord, mapping, type RecordOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'
import { activateIdentifiers, listInactive, replaceWindows } from '../passes/identifiers.ts'
import { createMatcher, type PassFilters } from '../passes/list/pass-conditions.ts'
import { listPasses } from '../passes/list/pass-list.ts'
import { findRange, matchingInRange } from '../passes/list/pass-walk.ts'
import { lockPasses, writeUpgrades } from '../passes/pass-change.ts'
import { type PassRow, type StoredPass, selectPass, toPass } from '../passes/pass-row.ts'
import type { PassChange } from '../passes/passes-repository.ts'

const UPGRADE = mapping({
  id: field.text,
  templateId: field.text,
  templateVersionId: field.text,
  version: field.number,
  filter: field.nullable(field.json<PassFilter>()),
  passLimit: field.optionalNumber,
  dryRun: field.flag,
  status: field.plain<UpgradeStatus>(),
  /** The projects of the token that created the upgrade; null for the whole workspace. */
  projectIds: field.nullable(field.json<readonly string[]>()),
  tokenId: field.text,
  tokenName: field.text,
  /** The subject of the person who created the upgrade; null for a token. */
  tokenSubject: field.optionalText,
  /** The ID of the last pass that was processed. */
  position: field.optionalText,
  /** The number of passes to process; null until they are counted. */
  matched: field.optionalNumber,
  upgraded: field.number,
  unchanged: field.number,
  failed: field.number,
  createdAt: field.time,
  updatedAt: field.time,
})

export interface StoredUpgrade extends RecordOf<typeof UPGRADE> {}

export type NewUpgrade = Omit<StoredUpgrade, keyof typeof NO_PROGRESS | 'createdAt' | 'updatedAt'>

const NO_PROGRESS = {
  status: 'PENDING',
  position: null,
  matched: null,
  upgraded: 0,
  unchanged: 0,
  failed: 0,
} as const

export interface UpgradeFailure {
  passId: string
  code: ErrorCode
  message: string
}

export interface StoredFailure extends UpgradeFailure {
  externalPassId: string
}

export interface NextPasses {
  passes: StoredPass[]
  /** The end of the range that was read; null if this is the last range, or if the limit ended it early. */
  upTo: string | null
  isLast: boolean
}

/** The outcomes of the passes that a chunk processed. */
export interface UpgradeProgress {
  /** The ID of the last processed pass, or the end of the processed range; null keeps the previous position. */
  position: string | null
  upgraded: number
  unchanged: number
  failures: UpgradeFailure[]
  isLast: boolean
}

/** The change of a pass by an upgrade. The pass keeps its codes and its holder. */
export type PassUpgrade = Omit<PassChange, 'scanCode' | 'scanPayload' | 'newHolder'> & { id: string }

/** The upgrades of passes to other versions of their templates, and their progress. */
export class Upgrades extends Repository {
  /** The caller must have locked the template. Otherwise, two upgrades of the template could run at the same time. */
  async insert(workspaceId: string, upgrade: NewUpgrade, at: Date): Promise<StoredUpgrade> {
    const stored: StoredUpgrade = { ...upgrade, ...NO_PROGRESS, createdAt: at, updatedAt: at }
    await this.db('template_upgrades').insert({ ...UPGRADE.write(stored), workspace_id: workspaceId })
    return stored
  }

  async find(workspaceId: string, templateId: string, id: string): Promise<StoredUpgrade | undefined> {
    return findRecord(this.rows(workspaceId).where({ template_id: templateId, id }), UPGRADE.read)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredUpgrade | undefined> {
    return findRecord(this.rows(workspaceId).where({ id }).forUpdate(), UPGRADE.read)
  }

  async findById(workspaceId: string, id: string): Promise<StoredUpgrade | undefined> {
    return findRecord(this.rows(workspaceId).where({ id }), UPGRADE.read)
  }

  list(workspaceId: string, templateId: string, request: PageRequest): Promise<ListPage<StoredUpgrade>> {
    const filtered = this.rows(workspaceId).where('template_upgrades.template_id', templateId)
    const sorted = { ...request, ...NEWEST_FIRST, templateId }
    return listPage(this.db, filtered, byId('template_upgrades'), sorted, UPGRADE.read)
  }

  /** Returns the failures of upgrades, in order of creation of the passes. */
  async listFailures(workspaceId: string, ids: string[]): Promise<Map<string, StoredFailure[]>> {
    const rows: (StoredFailure & { upgradeId: string })[] = await this.db('template_upgrade_failures as failures')
      .join('passes', 'passes.id', 'failures.pass_id')
      .where('failures.workspace_id', workspaceId)
      .whereIn('upgrade_id', ids)
      .orderBy('pass_id')
      .select('upgrade_id as upgradeId', 'pass_id as passId', 'external_pass_id as externalPassId', 'code', 'message')
    return groupBy(rows, ({ upgradeId }) => upgradeId)
  }

  /**
   * Returns the ID of the pending upgrade of a template, and whether the caller can access the upgrade. Ignores dry
   * runs.
   */
  async findRunning(workspaceId: string, templateId: string): Promise<{ id: string; isVisible: boolean } | undefined> {
    const running = { template_id: templateId, status: 'PENDING', dry_run: false }
    const row: { id: string } | undefined = await this.all(workspaceId).where(running).first('id')
    return row && { id: row.id, isVisible: (await this.find(workspaceId, templateId, row.id)) !== undefined }
  }

  countPending(workspaceId: string): Promise<number> {
    return countRows(this.all(workspaceId).where({ status: 'PENDING' }))
  }

  /** Stops an upgrade that the caller has locked. */
  async cancel(workspaceId: string, id: string, at: Date): Promise<void> {
    await this.all(workspaceId).where({ id }).update({ status: 'CANCELLED', updated_at: at.getTime() })
  }

  async cancelOfTemplate(workspaceId: string, templateId: string, at: Date): Promise<void> {
    const pending = this.all(workspaceId).where({ template_id: templateId, status: 'PENDING' })
    await pending.update({ status: 'CANCELLED', updated_at: at.getTime() })
  }

  /** Counts the passes that match an upgrade, up to its limit. */
  async count(workspaceId: string, upgrade: StoredUpgrade, at: Date): Promise<number> {
    const sorted = { sortBy: 'createdAt', sortDir: 'asc', limit: 1 } as const
    const request = { ...filtersOf(upgrade), status: CHANGEABLE, ...sorted }
    const { total } = await listPasses(this.db, workspaceId, request, at)
    return Math.min(total, upgrade.passLimit ?? total)
  }

  /** The caller must have locked the upgrade. */
  async setMatched(workspaceId: string, id: string, matched: number, at: Date): Promise<void> {
    await this.all(workspaceId).where({ id }).update({ matched, updated_at: at.getTime() })
  }

  /**
   * Returns the next passes of an upgrade, in order of creation. Reads a range of the passes of the template, so that a
   * chunk costs the same, regardless of the filter.
   * @param options the number of passes in the range, and the maximum number of passes to return
   */
  async listNext(
    workspaceId: string,
    upgrade: StoredUpgrade,
    { rows, limit, at }: { rows: number; limit: number; at: Date },
  ): Promise<NextPasses> {
    const { templateId, position, createdAt } = upgrade
    const owner = { templateId }
    const end = idBound(createdAt.getTime() + 1)
    const range = await findRange(this.db, workspaceId, owner, position, rows)
    const matching = await createMatcher(this.db, workspaceId, filtersOf(upgrade), at)
    const ids = await readChunk<string[]>(this.db, async (db) =>
      matchingInRange(db, workspaceId, owner, range, matching)
        .whereNot('passes.status', 'VOID')
        .where('passes.id', '<', end)
        .orderBy('passes.id')
        .limit(limit)
        .pluck('passes.id'),
    )
    const chosen = this.db('passes').where('passes.workspace_id', workspaceId).whereIn('passes.id', ids)
    const passes: PassRow[] = await selectPass(this.db, chosen).orderBy('passes.id')
    const isWhole = ids.length < limit
    const isLast = !isWhole || range.upTo === null || range.upTo >= end
    return { passes: passes.map(toPass), upTo: isWhole ? range.upTo : null, isLast }
  }

  /** Locks passes until the transaction ends, and returns the `version` of each, which counts all changes. */
  async lockPasses(workspaceId: string, passIds: string[]): Promise<Map<string, number>> {
    const rows: { id: string; version: number }[] = await lockPasses(this.db, workspaceId)
      .whereIn('id', passIds)
      .select('id', 'version')
    return new Map(rows.map((row) => [row.id, row.version]))
  }

  /** Writes a new revision of each pass, as `Passes.update` does. The caller has locked the passes. */
  async writePasses(workspaceId: string, upgrades: PassUpgrade[], at: Date): Promise<void> {
    const ids = await writeUpgrades(this.db, workspaceId, upgrades, at)
    const written = upgrades.filter(({ id }) => ids.has(id))
    await replaceWindows(this.db, workspaceId, written)
    const identifiers = written.map(({ id, identifierDigest }) => ({ passId: id, digest: identifierDigest }))
    await activateIdentifiers(this.db, workspaceId, await listInactive(this.db, workspaceId, identifiers))
  }

  /** Adds the outcomes of a chunk to an upgrade that the caller has locked. */
  async advance(workspaceId: string, upgrade: StoredUpgrade, progress: UpgradeProgress, at: Date): Promise<void> {
    const { position, upgraded, unchanged, failures, isLast } = progress
    const counts = {
      upgraded: upgrade.upgraded + upgraded,
      unchanged: upgrade.unchanged + unchanged,
      failed: upgrade.failed + failures.length,
    }
    const end = { status: 'DONE', matched: counts.upgraded + counts.unchanged + counts.failed }
    await this.all(workspaceId)
      .where({ id: upgrade.id })
      .update({ ...counts, ...(position !== null && { position }), ...(isLast && end), updated_at: at.getTime() })
    const shown = failures.slice(0, Math.max(0, MAX_FAILURES - upgrade.failed))
    await insertRows(
      this.db,
      'template_upgrade_failures',
      shown.map(({ passId, code, message }) => ({
        workspace_id: workspaceId,
        upgrade_id: upgrade.id,
        pass_id: passId,
        code,
        message,
      })),
    )
    if (!upgrade.dryRun && upgraded > 0) this.emit({ what: 'upgraded', passes: upgraded })
  }

  private all(workspaceId: string) {
    return this.db('template_upgrades').where('template_upgrades.workspace_id', workspaceId)
  }

  /** Selects the upgrades whose tokens were limited to projects in scope; all upgrades if no scope is set. */
  private rows(workspaceId: string) {
    const all = this.all(workspaceId)
    return this.scope ? all.whereRaw(isPartOf(this.db, 'template_upgrades.project_ids', [...this.scope])) : all
  }
}

const CHANGEABLE = passStatuses.filter((status) => status !== 'VOID')

/** Returns the filter of an upgrade, limited to its template and to the projects of its token. */
function filtersOf({ filter, templateId, projectIds }: StoredUpgrade): PassFilters {
  const given = parsePassFilter(filter ?? {})
  return {
    ...given,
    templateId: common(given.templateId, [templateId]),
    projectId: projectIds ? common(given.projectId, projectIds) : given.projectId,
  }
}

/**
 * Returns the values that are in both lists. If there are none, returns an ID that no row has, because an empty list
 * would match every row.
 */
function common(given: string[] | undefined, allowed: readonly string[]): string[] {
  const both = allowed.filter((id) => given === undefined || given.includes(id))
  return both.length > 0 ? both : [NIL_UUID]
}
