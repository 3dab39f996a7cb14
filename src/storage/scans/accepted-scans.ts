import type { Knex } from 'knex'
import type { ScanContext } from '../../core/contract/scan-shapes.ts'
import type { RedemptionHistory, RedemptionPlan } from '../../core/rules/redemption/redemption-plan.ts'
import { insertMany, moment, runPrepared } from '../db/dialect.ts'

export interface NewAcceptedScan {
  scanId: string
  passId: string
  projectId: string | null
  templateId: string
  scanContextKey: string | null
  scannedAt: Date
  /** The window that was charged, where several held the moment. */
  chargedWindow: string | null
  /** YYYY-MM-DD, where it was made as of a date: then it has no time of day that others are measured from. */
  validityDate: string | null
}

/** How often a pass was let in, in all and in one scan context. */
export interface UseCounts {
  count: number
  lastAt: Date | null
  contextCount: number
  contextLastAt: Date | null
}

export const NO_USES: UseCounts = { count: 0, lastAt: null, contextCount: 0, contextLastAt: null }

interface HistoryRow {
  part: number
  uses: number
  first_at: number | null
  last_at: number | null
}

/** Accepted scans that were not reversed: what policies count. None given is a scan context of its own. */
export class AcceptedScans {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async insert(workspaceId: string, scans: NewAcceptedScan[]): Promise<void> {
    const rows = scans.map((scan) => ({
      scan_id: scan.scanId,
      workspace_id: workspaceId,
      pass_id: scan.passId,
      project_id: scan.projectId,
      template_id: scan.templateId,
      scan_context_key: scan.scanContextKey ?? NO_CONTEXT,
      scanned_at: scan.scannedAt.getTime(),
      charged_window: scan.chargedWindow,
      validity_date: scan.validityDate,
    }))
    await insertMany(this.db, 'accepted_scans', rows)
  }

  /** Whether the scan was accepted and not reversed. */
  async isCounted(workspaceId: string, scanId: string): Promise<boolean> {
    const row = await this.db('accepted_scans').where({ workspace_id: workspaceId, scan_id: scanId }).first('scan_id')
    return row !== undefined
  }

  /** False when the scan does not count: it was reversed before, or never accepted. */
  async delete(workspaceId: string, scanId: string): Promise<boolean> {
    return (await this.db('accepted_scans').where({ workspace_id: workspaceId, scan_id: scanId }).delete()) > 0
  }

  /**
   * What a judgement needs of the history of a pass, in one statement of counts and ends of index ranges. Whoever
   * records what he judges holds the pass.
   */
  async findHistory(workspaceId: string, passId: string, plan: RedemptionPlan): Promise<RedemptionHistory> {
    const at = plan.realTime.getTime()
    const parts: Part[] = [
      { name: 'all', ...COUNTED, where: '', values: [] },
      { name: 'context', ...COUNTED, where: 'and scan_context_key = ?', values: [plan.scanContextKey ?? NO_CONTEXT] },
      { name: 'previous', ...NEAREST, last: 'max(scanned_at)', where: `${UNDATED} and scanned_at <= ?`, values: [at] },
      { name: 'next', ...NEAREST, first: 'min(scanned_at)', where: `${UNDATED} and scanned_at > ?`, values: [at] },
      ...plan.counted.map(({ key, from, to, notChargedTo, isKeyless }) => ({
        name: key,
        ...COUNTED,
        where: `${isKeyless ? KEYLESS : ''} and scanned_at >= ? and scanned_at < ?${notCharged(notChargedTo)}`,
        values: [from, to, ...notChargedTo],
      })),
    ]
    const rows = await this.read(workspaceId, passId, parts)
    const row = (name: string) => rows.get(name)!
    return {
      total: row('all').uses,
      firstAt: moment(row('all').first_at),
      lastAt: moment(row('all').last_at),
      inContext: row('context').uses,
      contextFirstAt: moment(row('context').first_at),
      contextLastAt: moment(row('context').last_at),
      previousAt: moment(row('previous').last_at),
      nextAt: moment(row('next').first_at),
      counts: new Map(
        plan.counted.map(({ key }) => [key, { count: row(key).uses, firstAt: moment(row(key).first_at) }]),
      ),
    }
  }

  /** By pass; one that was never let in is left out. */
  async listCounts(workspaceId: string, passIds: string[], contextKey: string | null): Promise<Map<string, UseCounts>> {
    const isContext = 'case when scan_context_key = ? then scanned_at end'
    const key = contextKey ?? NO_CONTEXT
    const rows: { pass_id: string; n: number; last: number; in_context: number; context_last: number | null }[] =
      await this.db('accepted_scans')
        .where({ workspace_id: workspaceId })
        .whereIn('pass_id', passIds)
        .groupBy('pass_id')
        .select('pass_id', {
          n: this.db.raw('count(*)'),
          last: this.db.raw('max(scanned_at)'),
          in_context: this.db.raw(`count(${isContext})`, [key]),
          context_last: this.db.raw(`max(${isContext})`, [key]),
        })
    return new Map(
      rows.map((row) => [
        row.pass_id,
        {
          count: row.n,
          lastAt: moment(row.last),
          contextCount: row.in_context,
          contextLastAt: moment(row.context_last),
        },
      ]),
    )
  }

  /** Where a pass was let in at a moment, as the scan of then says. */
  async findPlace(workspaceId: string, passId: string, at: Date): Promise<string | undefined> {
    const row: { context: string | null; device_id: string | null } | undefined = await this.db('accepted_scans')
      .join('scans', 'scans.id', 'accepted_scans.scan_id')
      .where({
        'accepted_scans.workspace_id': workspaceId,
        'accepted_scans.pass_id': passId,
        'accepted_scans.scanned_at': at.getTime(),
      })
      .orderBy('scans.id')
      .first('scans.context', 'scans.device_id')
    const { gate, lane, location }: ScanContext = row?.context ? JSON.parse(row.context) : {}
    return [gate, lane, location].filter(Boolean).join(', ') || row?.device_id || undefined
  }

  private async read(workspaceId: string, passId: string, parts: Part[]): Promise<Map<string, HistoryRow>> {
    const sql = parts.map(
      ({ uses, first, last, where }, index) =>
        `select ${index} as part, ${uses} as uses, ${first} as first_at, ${last} as last_at
          from accepted_scans where workspace_id = ? and pass_id = ? ${where}`,
    )
    const values = parts.flatMap((part) => [workspaceId, passId, ...part.values])
    const query = () => this.db.select('*').from(this.db.raw(`(${sql.join(' union all ')}) as facts`, values))
    const shape = shapeOf(parts)
    const rows = await (shape ? runPrepared<HistoryRow>(this.db, `history-${shape}`, values, query) : query())
    return new Map(rows.map((row) => [parts[row.part]!.name, row]))
  }
}

interface Part {
  name: string
  /** In SQL: a count, and the first and last of its moments. */
  uses: string
  first: string
  last: string
  where: string
  values: (string | number)[]
}

/** A name for the statement of a common history; none for the many that policies of several windows may need. */
function shapeOf(parts: Part[]): string | undefined {
  const isCommon = parts.length <= MOST_COMMON_PARTS && parts.every(({ where }) => !where.includes('charged_window'))
  const isKeyless = parts.some(({ where }) => where.startsWith(KEYLESS))
  return isCommon ? `${parts.length}${isKeyless ? '-keyless' : ''}` : undefined
}

/** Four facts of every pass, and two limits of its policy. */
const MOST_COMMON_PARTS = 6

/** How a scan is stored that has no context. */
const NO_CONTEXT = ''
const KEYLESS = `and scan_context_key = '${NO_CONTEXT}'`
const UNDATED = 'and validity_date is null'

const NOTHING = 'cast(null as bigint)'
const COUNTED = { uses: 'count(*)', first: 'min(scanned_at)', last: 'max(scanned_at)' }
const NEAREST = { uses: '0', first: NOTHING, last: NOTHING }

function notCharged(keys: string[]): string {
  if (keys.length === 0) return ''
  return ` and (charged_window is null or charged_window not in (${keys.map(() => '?').join(', ')}))`
}
