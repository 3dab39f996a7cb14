import { styleText } from 'node:util'
import type { Pass } from '../core/contract/passes.ts'
import type { Project } from '../core/contract/projects.ts'
import type {
  PolicyReplayResult,
  RedemptionExplanation,
  ScanStats,
  ScanStatsByGate,
  ScanStatsByProject,
} from '../core/contract/scans/scans.ts'
import type { ScanItem } from '../core/contract/schemas/scan-shapes.ts'
import type { Template } from '../core/contract/templates/templates.ts'
import type { PassWallets } from '../core/contract/wallets.ts'
import { type LimitName, limitNames } from '../core/rules/pass/workspace-limits.ts'
import {
  type Column,
  count,
  details,
  inWords,
  localTime,
  localTimeOr,
  printable,
  table,
  textOrJson,
  textWidth,
  wrapText,
} from './command/output.ts'

export function showProject(project: Project): string {
  return details([
    ['Project', project.id],
    ['Name', project.name],
    ['Description', project.description || null],
    ['Color', project.color],
    ['Created', localTime(project.createdAt)],
    ['Updated', localTime(project.updatedAt)],
  ])
}

export function showTemplate(template: Template): string {
  return details([
    ['Template', template.id],
    ['Key', template.key],
    ['Name', template.name],
    ['Description', template.description || null],
    ['Pass type', template.passType],
    ['Project', template.projectId ?? 'none'],
    ['Published version', template.latestPublishedVersion ?? 'none'],
    ['Created', localTime(template.createdAt)],
    ['Updated', localTime(template.updatedAt)],
  ])
}

export function showPass(pass: Pass): string {
  return details([
    ['Pass', pass.id],
    ['External ID', pass.externalPassId],
    ['Label', pass.label],
    ['Status', pass.status],
    ['Template', pass.templateId && `${pass.templateId} (version ${pass.templateVersion})`],
    ['Project', pass.projectId],
    ['Revision', pass.revision],
    ['Expires', localTimeOr(pass.expiresAt, 'never')],
    ['Created', localTime(pass.createdAt)],
    ['Apple link', pass.hostedLinks.apple],
    ['Google link', pass.hostedLinks.google],
    ['Smart link', pass.hostedLinks.smart],
    ['Group', pass.groupKey],
    ['Group link', pass.hostedLinks.group],
    ...(pass.join
      ? ([['Join page', pass.join.source ? `${pass.join.slug} (${pass.join.source})` : pass.join.slug]] as const)
      : []),
    ...Object.entries(pass.variables).map(([name, value]) => [`  ${name}`, textOrJson(value)] as const),
  ])
}

type Check = RedemptionExplanation['checks'][number]

/** For each check, the statement that is true if the check passes. */
const questions: Record<Check['check'], string> = {
  revoked: 'not void',
  expired: 'not expired',
  not_active: 'issued',
  not_valid_context: 'valid on the date',
  out_of_window: 'within a window',
  quota_exhausted: 'uses left',
  cooldown: 'not too soon',
  already_scanned: 'not scanned yet in this context',
}

const signs = {
  passed: { sign: '✓', color: 'green' },
  failed: { sign: '✗', color: 'red' },
  not_applicable: { sign: '–', color: 'gray' },
} as const

const labelWidth = Math.max(...Object.values(questions).map(textWidth))

export interface ExplanationOptions {
  color: boolean
  /** The width of the terminal; if undefined, lines are not wrapped. */
  width?: number | undefined
}

export function showExplanation(explanation: RedemptionExplanation, { color, width }: ExplanationOptions): string {
  const { result, reasonCode, message, checks } = explanation
  const isAccepted = result === 'accepted'
  const decision = isAccepted ? 'YES: it would be accepted' : `NO: ${result === 'denied' ? reasonCode : result}`
  const paint = (text: string, name: (typeof signs)[keyof typeof signs]['color']) =>
    color ? styleText(name, text, { validateStream: false }) : text
  const facts = details([
    ['Pass', explanation.passId],
    ['At', localTime(explanation.at)],
    ['Context', explanation.scanContextKey],
    ['Accepted', explanation.acceptedScanCount],
  ])
  const lines = checks.map(({ check, outcome, facts }) => {
    const { sign, color: name } = signs[outcome]
    const indent = ' '.repeat(labelWidth + 4)
    const text = outcome === 'not_applicable' ? 'nothing to check' : factsText(facts)
    const [first = '', ...rest] = width ? wrapText(text, Math.max(20, width - indent.length)) : [text]
    const head = `${paint(sign, name)} ${questions[check].padEnd(labelWidth)}  ${first}`.trimEnd()
    return [head, ...rest.map((line) => indent + line)].join('\n')
  })
  return [paint(decision, isAccepted ? 'green' : 'red'), printable(message), '', facts, '', ...lines].join('\n')
}

/** Formats facts in words, such as "maxUses 3, uses 1". Omits `null` values. */
function factsText(facts: object): string {
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  return known.map(([name, value]) => `${inWords(name)} ${valueText(value)}`).join(', ')
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join('; ')
  if (typeof value === 'object' && value !== null) return factsText(value)
  return printable(String(value))
}

/** Returns the flag name of a limit: `storedBytes` is `stored-bytes`. */
export function limitFlag(name: LimitName): string {
  return inWords(name, '-')
}

export function showLimits(
  limits: Record<LimitName, number>,
  usage: Partial<Record<LimitName, number>>,
  width: number | undefined,
): string {
  return table(
    limitNames,
    [
      { title: 'Limit', value: limitFlag },
      { title: 'Used', value: (name) => (usage[name] === undefined ? '' : count(usage[name])) },
      { title: 'Allowed', value: (name) => count(limits[name]) },
      { title: '%', value: (name) => share(usage[name], limits[name]) },
    ],
    { width },
  )
}

function share(used: number | undefined, allowed: number): string {
  return used === undefined || allowed === 0 ? '' : String(Math.floor((100 * used) / allowed))
}

interface Holder {
  device: string
  state: string
  version: number | null
  at: string | null
  error: string | null
}

const columns: readonly Column<Holder>[] = [
  { title: 'wallet', value: ({ device }) => device },
  { title: 'state', value: ({ state }) => state, whole: true },
  { title: 'version', value: ({ version }) => version },
  { title: 'since', value: ({ at }) => localTimeOr(at, null) },
  { title: 'error', value: ({ error }) => error },
]

/** Formats one line for each Apple device, and one for Google, which does not report devices. */
export function showWallets({ walletVersion, apple, google }: PassWallets, width: number | undefined): string {
  const holders = [
    ...apple.map(({ deviceId, state, fetchedVersion, fetchedAt, lastError }) => {
      return { device: `Apple ${deviceId}`, state, version: fetchedVersion, at: fetchedAt, error: lastError }
    }),
    ...(google ? [googleHolder(google)] : []),
  ]
  if (holders.length === 0) return 'No phone holds this pass yet: pass get shows the links to hand out.'
  return `The newest version is ${walletVersion}.\n\n${table(holders, columns, { width })}`
}

function googleHolder({
  installedAt,
  state,
  sentVersion,
  sentAt,
  lastError,
}: NonNullable<PassWallets['google']>): Holder {
  const device = installedAt === null ? 'Google (not installed)' : 'Google'
  return { device, state, version: sentVersion, at: sentAt, error: lastError }
}

export function showScan(scan: ScanItem): string {
  const { conflict, validateAsOf, ...context } = scan.metadata
  return details([
    ['Scan', scan.id],
    ['Result', scan.reason && scan.result === 'denied' ? `denied: ${scan.reason}` : scan.result],
    ['Verified', scan.verified],
    ['Conflict', conflict ? `the server would have decided ${conflict}` : null],
    ['Pass', scan.passId],
    ['External ID', scan.externalPassId],
    ['Project', scan.projectId],
    ['Scanned', localTime(scan.scannedAt)],
    ['Recorded', localTime(scan.recordedAt)],
    ['Valid as of', localTimeOr(validateAsOf, null)],
    ['Device', scan.deviceId],
    ['Reverses', scan.reversesScanId ?? null],
    ['Because', scan.reversalReason ?? null],
    ...Object.entries(context).map(([name, value]) => [`  ${name}`, value ?? null] as const),
  ])
}

export function showStats(stats: ScanStats): string {
  return details([
    ['Passes', count(stats.totalPasses)],
    ['Redeemed', count(stats.redeemed)],
    ['Open', count(stats.open)],
    ['Scans', count(stats.totalScans)],
    ['Denied', count(stats.totalDenied)],
    ['Last scan', localTimeOr(stats.lastScanAt, 'none')],
  ])
}

type ProjectStats = ScanStatsByProject['items'][number]

const figureColumns: Column<ProjectStats>[] = [
  { title: 'project', value: ({ projectId }) => projectId ?? 'none', whole: true },
  { title: 'passes', value: ({ totalPasses }) => count(totalPasses) },
  { title: 'redeemed', value: ({ redeemed }) => count(redeemed) },
  { title: 'scans', value: ({ totalScans }) => count(totalScans) },
  { title: 'denied', value: ({ totalDenied }) => count(totalDenied) },
]

export function showStatsByProject({ items }: ScanStatsByProject, width: number | undefined): string {
  return table(items, figureColumns, { width })
}

type GateStats = ScanStatsByGate['items'][number]

const gateColumns: Column<GateStats>[] = [
  { title: 'gate', value: ({ gate }) => gate ?? 'none' },
  { title: 'scans', value: ({ totalScans }) => count(totalScans), whole: true },
  { title: 'denied', value: ({ totalDenied }) => count(totalDenied), whole: true },
  { title: 'reversed', value: ({ reversed }) => count(reversed), whole: true },
]

const exitsColumn: Column<GateStats> = { title: 'exits', value: ({ exits = 0 }) => count(exits), whole: true }

export function showStatsByGate({ items }: ScanStatsByGate, width: number | undefined): string {
  return table(items, items.some(({ exits }) => exits) ? [...gateColumns, exitsColumn] : gateColumns, { width })
}

export function showReplay(
  { scans, changed, byReason, byGate }: PolicyReplayResult,
  width: number | undefined,
): string {
  const verb = changed === 1 ? 'scan' : 'scans'
  const summary = `${count(changed)} of ${count(scans)} ${verb} would have had another result.`
  if (changed === 0) return summary
  type Change = PolicyReplayResult['byReason'][number]
  const columns = [
    { title: 'reason', value: ({ from }: Change) => from },
    { title: 'would be', value: ({ to }: Change) => to },
    { title: 'scans', value: (one: Change) => count(one.count) },
  ]
  const gates = byGate.flatMap(({ gate, byReason: changes }) => changes.map((change) => ({ gate, ...change })))
  const gateColumn = { title: 'gate', value: ({ gate }: { gate: string | null }) => gate ?? 'none' }
  return [summary, table(byReason, columns, { width }), table(gates, [gateColumn, ...columns], { width })].join('\n\n')
}
