import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type Client } from '../../client/client.ts'
import type { Pass, passes } from '../../core/contract/passes.ts'
import { REQUESTS_PER_SECOND, secondsAtPace } from '../../core/contract/schemas/platform.ts'
import type { Upgrade, UpgradeCreate } from '../../core/contract/templates/upgrades.ts'
import { groupBy } from '../../core/group-by.ts'
import type { RouteCall } from '../../core/route.ts'
import { describeFilter } from '../../core/rules/lists/pass-filters.ts'
import { passStatuses } from '../../core/rules/pass/pass-status.ts'
import { CliError, InterruptedError } from '../command/cli-error.ts'
import { count, details, duration, localTime, printable } from '../command/output.ts'
import { onInterrupt } from '../command/program.ts'
import { startProgress } from '../command/progress.ts'

type PassQuery = NonNullable<RouteCall<typeof passes.list>['query']>

/** The number of passes that an upgrade can change, and how many of them are in Google Wallet. */
export interface UpgradePlan {
  passes: number
  google: number
}

/** The statuses of passes that an upgrade can change. Void passes never change again. */
const changeable = passStatuses.filter((status): status is Exclude<Pass['status'], 'VOID'> => status !== 'VOID')

export async function planUpgrade(
  client: Client,
  templateId: string,
  { filter, limit = Infinity }: Partial<Pick<UpgradeCreate, 'filter' | 'limit'>>,
): Promise<UpgradePlan> {
  const matching = { ...(filter as PassQuery), templateId, status: changeable, limit: 1 }
  const held = { ...matching, installed: true, platform: ['google' as const] }
  const [all, google] = [await client.passes.list({ query: matching }), await client.passes.list({ query: held })]
  return { passes: Math.min(all.total, limit), google: Math.min(google.total, limit) }
}

/** Returns a note if the newest version is a draft, because `latest` means the newest published version. */
export async function findNewerDraft(client: Client, templateId: string): Promise<string | undefined> {
  try {
    const [newest] = await client.templateVersions.list({ query: { templateId } })
    if (newest?.stage !== 'draft') return undefined
    return `Version ${newest.version} is a draft: latest is the newest published version.`
  } catch (error) {
    // Omit the note if the token cannot read templates, because an upgrade itself does not need that permission.
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/** Estimates the time until Google Wallet shows the change; empty if fewer than two passes are affected. */
export function forecastUpgrade({ google }: UpgradePlan): string {
  if (google < 2) return ''
  const seconds = duration(secondsAtPace(google))
  return `Google: up to ${count(google)} objects at ${REQUESTS_PER_SECOND} a second: ${seconds}`
}

/** @throws CliError if another upgrade of the template is running */
export async function startUpgrade(client: Client, templateId: string, body: UpgradeCreate): Promise<Upgrade> {
  try {
    return await client.upgrades.create({ params: { id: templateId }, body })
  } catch (error) {
    const upgradeId = error instanceof ApiError && error.code === 'CONFLICT' ? error.details.upgradeId : undefined
    if (typeof upgradeId !== 'string') throw error
    throw new CliError('An upgrade of this template is running.', {
      code: 'CONFLICT',
      hint: nextSteps({ templateId, id: upgradeId }),
      details: { templateId, upgradeId },
    })
  }
}

const EVERY_MS = 500

/** Shows the progress of an upgrade on stderr until it ends. @throws InterruptedError after Ctrl-C */
export async function watchUpgrade(client: Client, started: Pick<Upgrade, 'id' | 'templateId'>): Promise<Upgrade> {
  const params = { id: started.templateId, upgradeId: started.id }
  using stop = onInterrupt()
  const read = () => client.upgrades.get({ params }, { signal: stop.signal })
  try {
    let upgrade = await read()
    // Wait until the passes are counted, because the progress bar needs their total.
    while (upgrade.status === 'PENDING' && upgrade.matched === 0) {
      await sleep(EVERY_MS, undefined, { signal: stop.signal })
      upgrade = await read()
    }
    if (upgrade.status !== 'PENDING') return upgrade
    const start = stateOf(upgrade)
    using progress = await startProgress({ total: upgrade.matched, start, unit: 'passes' })
    while (upgrade.status === 'PENDING') {
      progress.update(stateOf(upgrade))
      await sleep(EVERY_MS, undefined, { signal: stop.signal })
      upgrade = await read()
    }
    return upgrade
  } catch (error) {
    if (!stop.signal.aborted) throw error
    throw new InterruptedError('Stopped watching; the upgrade continues.', {
      hint: nextSteps(started),
      details: params,
    })
  }
}

function stateOf({ upgraded, unchanged, failed }: Upgrade) {
  const done = upgraded + unchanged + failed
  return { done, rows: done, failed }
}

function nextSteps({ templateId, id }: Pick<Upgrade, 'id' | 'templateId'>): string {
  return (
    `to watch it, run "passes upgrade get ${templateId} ${id} --watch"; to stop it, run ` +
    `"passes upgrade cancel ${templateId} ${id}".`
  )
}

/** Sets the exit code of an upgrade that has ended: 1 if it was stopped, or if any pass failed. */
export function setExitCode({ status, failed }: Upgrade): void {
  if (status === 'CANCELLED' || failed > 0) process.exitCode = 1
}

export function showUpgrade(upgrade: Upgrade): string {
  const { id, to, limit, filter, dryRun, status, matched, upgraded, unchanged, failed, createdAt } = upgrade
  return details([
    ['Upgrade', id],
    ['Version', to],
    ['Filter', filter && describeFilter(filter)],
    ['Limit', limit && count(limit)],
    ['Status', dryRun ? `${status} (dry run)` : status],
    ['Matched', count(matched)],
    [dryRun ? 'Would upgrade' : 'Upgraded', count(upgraded)],
    ['Unchanged', count(unchanged)],
    [dryRun ? 'Would fail' : 'Failed', count(failed)],
    ['Created', localTime(createdAt)],
  ])
}

/** The maximum number of reasons to show. Reasons can contain values, so each pass can have a different one. */
const MAX_REASONS = 20

/** Lists the reasons of failures, the most frequent first; `undefined` if there are none. */
export function failureText({ failures, failed }: Upgrade): string | undefined {
  if (failed === 0) return undefined
  const reasons = groupBy(failures, ({ message }) => message)
  const lines = [...reasons]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, MAX_REASONS)
    .map(([message, some]) => printable(`${count(some.length)} × ${message} (such as ${some[0]!.externalPassId})`))
  if (failed > failures.length) lines.push(`Only the reasons of the first ${failures.length} failures are stored.`)
  return lines.join('\n')
}
